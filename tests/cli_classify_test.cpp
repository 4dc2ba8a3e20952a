// `perceiver classify` and `perceiver attend` through a shell.
#include <ATen/ATen.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "perceiver/core/error.h"
#include "perceiver/media/image.h"
#include "perceiver/media/sound.h"
#include "tests/program.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// A folder of its own for each test, gone with it.
class ClassifyTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("classify_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A PPM picture of one colour with a white square in it.
  std::string picture(const std::string& name, int height = 40, int width = 60) {
    std::string bytes = "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        bytes += y > 10 && y < 25 && x > 20 && x < 40 ? "\xff\xff\xff" : "\x20\x80\x30";
      }
    }
    return file(name, bytes);
  }
  std::string file(const std::string& name, const std::string& bytes) {
    write_file(folder_ / name, bytes);
    return (folder_ / name).string();
  }
  static std::vector<std::string> labels(const std::string& name) {
    std::istringstream file(read_file(shipped("labels") / name).bytes);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
  const std::string model = " -m " + config("imagenet_mini.toml");
};

TEST_F(ClassifyTest, APictureGetsItsClassesWithProbabilities) {
  const Result result = run("classify -k 3 --json " + picture("a.ppm") + model);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json document = Json::parse(result.out);
  ASSERT_EQ(document.size(), 1);
  EXPECT_EQ(document[0]["file"], path("a.ppm"));
  ASSERT_EQ(document[0]["top"].size(), 3);
  EXPECT_GE(document[0]["top"][0]["probability"], document[0]["top"][1]["probability"]);
  const int64_t index = document[0]["top"][0]["index"];
  EXPECT_EQ(document[0]["top"][0]["name"], "class " + std::to_string(index));
  EXPECT_NE(result.err.find("imagenet, new model, random weights, "), std::string::npos)
      << result.err;
}

TEST_F(ClassifyTest, AFolderGivesALineForEachPictureInOrderWhateverTheBatch) {
  for (const char* name : {"c.ppm", "a.ppm", "b.ppm"}) picture(name);
  file("notes.md", "not a picture");
  const Result whole = run("classify -q --jsonl " + folder_.string() + model);
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(whole.err, "");
  std::istringstream lines(whole.out);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) names.push_back(Json::parse(line)["file"]);
  EXPECT_EQ(names, (std::vector<std::string>{path("a.ppm"), path("b.ppm"), path("c.ppm")}));
}

TEST_F(ClassifyTest, NamesComeFromTheFileBesideTheWeights) {
  const std::string converted = path("model");
  ASSERT_EQ(run("convert " + config("imagenet_mini.toml") + " " + converted).code, 0);
  std::string names;
  for (int i = 0; i < 10; ++i) names += "thing " + std::to_string(i) + "\n";
  write_file(converted + "/labels.txt", names);
  const Result named = run("classify -q " + picture("a.ppm") + " -m " + converted);
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_TRUE(named.out.starts_with(path("a.ppm") + "\n")) << named.out;
  EXPECT_NE(named.out.find(" %  thing "), std::string::npos) << named.out;
  write_file(converted + "/labels.txt", "one\n");
  expect_complaint("classify -q " + path("a.ppm") + " -m " + converted,
                   converted + "/labels.txt: 1 names, the model has 10 classes");
}

TEST_F(ClassifyTest, ASoundIsClassifiedByAModelOfClips) {
  const at::Tensor tone = (at::arange(8000) * 0.2).sin().mul(0.5).view({1, -1});
  file("tone.wav", encode_wav({.samples = tone, .samples_per_second = 16000}));
  file("small.toml",
       "task = 'audioset'\n[model]\nnum_frames = 8\nimage_size = 64\nnum_samples = 5120\n"
       "[model.encoder]\nnum_latents = 8\nlatent_channels = 16\n");
  const Result result =
      run("classify -k 2 --json " + path("tone.wav") + " -m " + path("small.toml"));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json top = Json::parse(result.out)[0]["top"];
  ASSERT_EQ(top.size(), 2);
  const std::vector<std::string> names = labels("audioset-527.txt");
  EXPECT_EQ(top[0]["name"], names.at(top[0]["index"].get<size_t>()));
  EXPECT_NE(result.err.find("has no picture: the model sees black frames"), std::string::npos)
      << result.err;
}

TEST_F(ClassifyTest, WithoutInputsShippedSamplesAreClassified) {
  const Result pictures = run("classify -q --json" + model);
  ASSERT_EQ(pictures.code, 0) << pictures.err;
  const Json document = Json::parse(pictures.out);
  ASSERT_EQ(document.size(), 10);
  EXPECT_EQ(document[0]["file"], (shipped("samples/pictures") / "airplane.png").string());
  const Result sound = run("classify -q -k 1 -m " + config("audioset_mini.toml"));
  EXPECT_TRUE(sound.out.starts_with((shipped("samples")).string() + "/")) << sound.out << sound.err;
  expect_complaint("classify -q -m " + config("text_classifier_mini.toml"),
                   "give texts to classify: files, folders, or - for standard input");
  const Result maps = run("attend -q --query -o " + path("maps.png") + model);
  EXPECT_EQ(maps.code, 0) << maps.err;
  EXPECT_TRUE(fs::exists(path("maps.png")));
}

TEST_F(ClassifyTest, MistakesAreOneLine) {
  const std::string q = "classify -q ";
  expect_complaint(q + "nowhere.png" + model,
                   "nowhere.png: cannot open: No such file or directory");
  expect_complaint(
      q + file("text.png", "just words") + model,
      path("text.png") + ": not a picture: expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
  fs::create_directories(folder_ / "empty");
  expect_complaint(
      q + path("empty") + model,
      path("empty") + ": no picture in it, expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
  expect_complaint(q + path("text.png") + " -m " + config("language_bytes_mini.toml"),
                   "models of this task have no classes");
  expect_complaint(q + path("text.png") + model + " --device cuda:77",
                   "--device cuda:77: there is no GPU that this build can use; take cpu");
  expect_complaint(q + path("text.png") + model + " --device tpu",
                   "--device: unknown device 'tpu', expected auto, cpu, cuda or cuda:N");
}

TEST_F(ClassifyTest, OneBadPictureOfAFolderIsNamedAndTheOthersAreClassified) {
  picture("a.ppm");
  file("b.png", "just words");
  picture("c.ppm");
  const Result result = run("classify -q --jsonl " + folder_.string() + model);
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
  EXPECT_EQ(result.err,
            "perceiver: " + path("b.png") +
                ": not a picture: expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF\n"
                "perceiver: 1 of 3 inputs could not be read\n");
}

TEST_F(ClassifyTest, FoldersOfFoldersAreGoneInto) {
  fs::create_directories(folder_ / "ant" / "small");
  fs::create_directories(folder_ / "bee");
  picture("ant/small/1.ppm");
  picture("bee/2.ppm");
  file("bee/notes.txt", "no picture");
  file(".hidden.ppm", "no picture");
  const Result result = run("classify -q --json " + folder_.string() + model);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json document = Json::parse(result.out);
  ASSERT_EQ(document.size(), 2);
  EXPECT_EQ(document[0]["file"], path("ant/small/1.ppm"));
  EXPECT_EQ(document[1]["file"], path("bee/2.ppm"));
}

TEST_F(ClassifyTest, AttendSaysHowSharpEachMapIsAndNotThatItIsOnTheImage) {
  const Result result = run("attend -q --latents 5 --head 1 -o " + path("maps.png") + " " +
                            picture("a.ppm", 32, 32) + model);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("half of it on"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("latent 5, head 1"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("100.0 %"), std::string::npos) << result.out;
  // The picture seven times as large, its map beside it, and both below their names.
  EXPECT_EQ(decode_image(read_file(path("maps.png"))).sizes(),
            (std::vector<int64_t>{3, 7 * 32 + 20, 2 * 7 * 32 + 4}));
}

TEST_F(ClassifyTest, AttendDrawsGroupsOfLatentsOverThePicture) {
  const std::string out = path("maps.png");
  const Result result =
      run("attend -q --json --clusters 3 " + picture("a.ppm") + model + " -o " + out);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["output"], out);
  EXPECT_LE(document["maps"].size(), 3);
  size_t latents = 0;
  for (const Json& map : document["maps"]) {
    latents += map["latents"].size();
    EXPECT_NEAR(map["share"]["image"].get<double>(), 1.0, 1e-4);
  }
  EXPECT_EQ(latents, 64);
  EXPECT_TRUE(read_file(out).bytes.starts_with("\x89PNG"));
}

TEST_F(ClassifyTest, AttendDrawsOverPatchesAndOverPixels) {
  std::string toml = read_file(shipped("configs") / "imagenet_mini.toml").bytes;
  const std::string patches = "input = \"patches\"";
  toml.replace(toml.find(patches), patches.size(), "input = \"fourier\"");
  const std::string pixels = " -m " + file("pixels.toml", toml), out = path("maps.png");
  for (const auto& [by, elements] : {std::pair{model, 8 * 8}, std::pair{pixels, 32 * 32}}) {
    const Result result =
        run("attend -q --json --latents 5 " + picture("a.ppm") + by + " -o " + out);
    ASSERT_EQ(result.code, 0) << result.err;
    const Json map = Json::parse(result.out)["maps"][0];
    EXPECT_NEAR(map["share"]["image"].get<double>(), 1.0, 1e-4);
    for (const Json& place : map["strongest"]) EXPECT_LT(place["element"], elements);
    EXPECT_TRUE(read_file(out).bytes.starts_with("\x89PNG"));
  }
}

TEST_F(ClassifyTest, AttendShowsChosenLatentsAndTheClassQuery) {
  const std::string rest = picture("a.ppm") + model + " -o " + path("maps.png");
  const Result chosen = run("attend -q --json --latents 0,63 " + rest);
  ASSERT_EQ(chosen.code, 0) << chosen.err;
  EXPECT_EQ(Json::parse(chosen.out)["maps"][1]["name"], "latent 63");
  const Result query = run("attend -q --json --query " + rest);
  ASSERT_EQ(query.code, 0) << query.err;
  const Json maps = Json::parse(query.out)["maps"];
  ASSERT_EQ(maps.size(), 1);
  EXPECT_NEAR(maps[0]["share"]["image"].get<double>(), 1.0, 1e-4);
  expect_complaint("attend -q --latents 64 " + rest,
                   "--latents: 64 is not among the model's 64 latents, counted from 0");
  expect_complaint("attend -q --head 16 " + rest, "head 16 is not among the 16 of this attention");
  expect_complaint("attend -q " + path("a.ppm") + model + " -o maps.gif",
                   "maps.gif: expected a name ending in .png");
}

TEST_F(ClassifyTest, AttendOnATextMarksItInATerminalWithoutColoursAndInHtml) {
  const std::string text =
      "attend -q --clusters 2 \"Ein Käse & zwei <Brote>\" -m " + config("language_bytes_mini.toml");
  const Result plain = run(text, "NO_COLOR=1");
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_NE(plain.out.find("Ein Käse & zwei <Brote>\n"), std::string::npos) << plain.out;
  EXPECT_EQ(plain.out.find('\033'), std::string::npos);
  EXPECT_NE(plain.out.find("% of the input"), std::string::npos) << plain.out;
  const Result html = run(text + " -o " + path("maps.html"));
  ASSERT_EQ(html.code, 0) << html.err;
  const std::string page = read_file(path("maps.html")).bytes;
  EXPECT_NE(page.find(">&lt;</span>"), std::string::npos);
  EXPECT_NE(page.find(">ä</span>"), std::string::npos);
  EXPECT_NE(page.find("<h1>What the latents look at</h1>"), std::string::npos);
  EXPECT_NE(page.find("The darker a letter's background"), std::string::npos);
}

TEST_F(ClassifyTest, AttendTakesAWordForATextWhereTheModelReadsTexts) {
  const std::string model = " -m " + config("language_bytes_mini.toml");
  const Result word = run("attend -q --clusters 1 hello" + model, "NO_COLOR=1");
  EXPECT_EQ(word.code, 0) << word.err;
  EXPECT_NE(word.out.find("\nhello\n"), std::string::npos) << word.out;
  const Result masked = run("attend -q --clusters 1 'the [MASK] of'" + model, "NO_COLOR=1");
  EXPECT_NE(masked.out.find("\nthe _____ of\n"), std::string::npos) << masked.out;
  expect_complaint("attend -q ''" + model, "the text is empty");
  expect_complaint("attend -q nowhere.txt" + model,
                   "nowhere.txt: cannot open: No such file or directory");
}

TEST_F(ClassifyTest, AttendOnATextTakesTheShippedModelOfTexts) {
  try {
    shipped("models/language-mini");
  } catch (const Error&) {
    GTEST_SKIP() << "there is no models/language-mini";
  }
  const Result result = run("attend --clusters 1 'It was a dark night.'", "NO_COLOR=1");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.err.starts_with("language-mini: ")) << result.err;
}

}  // namespace
}  // namespace perceiver
