// The shipped model of sounds, asked through a shell as a user would.
#include <nlohmann/json.hpp>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"
#include "perceiver/media/sound.h"
#include "perceiver/media/video.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ShippedSoundModel : public testing::Test {
 protected:
  void SetUp() override {
    try {
      shipped("models/sound-mini");
    } catch (const Error&) {
      GTEST_SKIP() << "there is no models/sound-mini";
    }
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string file(const std::string& name, const std::string& bytes) const {
    write_file(folder / name, bytes);
    return (folder / name).string();
  }

  fs::path folder = fs::path(testing::TempDir()) / ("sound_model_" + std::to_string(getpid()));
};

TEST_F(ShippedSoundModel, IsTheOneThatSoundsAreClassifiedBy) {
  const fs::path digits = shipped("samples/digits");
  const Result named = run("classify -q -m sound-mini " + digits.string());
  ASSERT_EQ(named.code, 0) << named.err;
  const Result unnamed = run("classify -q " + (digits / "seven.wav").string());
  ASSERT_EQ(unnamed.code, 0) << unnamed.err;
  EXPECT_NE(named.out.find(unnamed.out), std::string::npos) << unnamed.out;
}

TEST_F(ShippedSoundModel, KnowsDigitsAndEverydaySounds) {
  const Result result = run("classify -q --json -k 20 " + shipped("samples/sound.wav").string());
  ASSERT_EQ(result.code, 0) << result.err;
  std::set<std::string> names;
  const Json document = Json::parse(result.out);
  for (const Json& one : document[0]["top"]) names.insert(one["name"]);
  EXPECT_EQ(names.size(), 20u);
  for (const char* name : {"zero", "nine", "dog", "rain", "crying baby"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(ShippedSoundModel, WrongFilesAreNamedInOneLine) {
  const std::string classify = "classify -q ";
  expect_complaint(classify + "nowhere.wav", "nowhere.wav: cannot open: No such file or directory");
  expect_complaint(classify + file("empty.wav", ""),
                   (folder / "empty.wav").string() + ": is empty, expected a sound");
  const std::string whole = read_file(shipped("samples/digits/one.wav")).bytes;
  const Result cut = run(classify + file("cut.wav", whole.substr(0, 2000)));
  EXPECT_EQ(cut.code, 1);
  EXPECT_TRUE(cut.err.starts_with("perceiver: " + (folder / "cut.wav").string() + ": broken WAV"))
      << cut.err;
}

// What the card says, but for sampling and rounding: the files are those of its data's folder.
TEST_F(ShippedSoundModel, RepeatsTheFiguresOfItsCard) {
  const char* data = std::getenv("PERCEIVER_DATA");
  if (data == nullptr) GTEST_SKIP() << "PERCEIVER_DATA names no folder of data";
  const fs::path audio = fs::path(data) / "audio";
  if (!fs::exists(audio / "fsdd") || !fs::exists(audio / "esc50.csv")) {
    GTEST_SKIP() << audio << " has no spoken digits and sounds";
  }
  if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to read FLAC with";
  const fs::path table = folder / "sounds.csv";
  const std::string make = "tools/sound_table.py " + (audio / "fsdd").string() + " " +
                           (audio / "esc50.csv").string() + " > " + table.string();
  ASSERT_EQ(std::system(make.c_str()), 0);
  const auto top_1 = [&](const std::string& set) {
    const Result result =
        run("eval -q --json sound-mini --data " + audio.string() + " data.table=" + table.string() +
            " data.held_out_rows=part=report data.rows=set=" + set);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? Json::parse(result.out)["top_1"].get<double>() : 0.0;
  };
  EXPECT_NEAR(top_1("digits"), 0.953, 0.005);
  EXPECT_NEAR(top_1("sounds"), 0.762, 0.02);
}

}  // namespace
}  // namespace perceiver
