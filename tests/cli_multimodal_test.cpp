// Clips trained on and measured through a shell, as a user would.
#include <nlohmann/json.hpp>

#include "perceiver/media/video.h"
#include "perceiver/tasks/multimodal/clips_test.h"
#include "tests/child.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliMultimodal : public testing::Test {
 protected:
  void SetUp() override {
    if (!video_is_built_in()) GTEST_SKIP() << "this build has no FFmpeg to draw clips with";
    write_clips(folder / "clips", 3);
    write_file(folder / "tiny.toml", tiny_multimodal().bytes);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  std::string train(const std::string& name) const {
    return "train -q --threads 1 " + path("tiny.toml") + " --data " + path("clips") + " -o " +
           path(name);
  }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_clips_" + std::to_string(getpid()));
};

TEST_F(CliMultimodal, ARunIsMeasuredWithTheLabelHiddenAndAutoencodesAClip) {
  const Result trained = run(train("run") + " train.steps=3");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Result measured = run("eval -q --threads 1 --json " + path("run"));
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Json json = Json::parse(measured.out);
  EXPECT_EQ(json["examples"], 2);  // one of each class
  EXPECT_GT(json["video_psnr"].get<double>(), 0.0);
  EXPECT_TRUE(json.contains("audio_psnr") && json.contains("top_1"));
  const Result inspected = run("inspect --json " + path("run"));
  ASSERT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_EQ(Json::parse(inspected.out)["compression"], json["compression"]);
  // The same clips, named, are measured on what was held out of them.
  const Result named =
      run("eval -q --threads 1 --json " + path("run") + " --data " + path("clips"));
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(Json::parse(named.out)["video_psnr"], json["video_psnr"]);

  const Result shown = run("autoencode -q --json -m " + path("run") + " " + path("clips/c1.mp4") +
                           " -o " + path("shown.mkv"));
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(fs::exists(folder / "shown.mkv"));
}

TEST_F(CliMultimodal, KilledARunComesToTheSameWeights) {
  const std::string often =
      " train.steps=40 train.log_every=1 train.save_every=3 train.eval_every=16";
  ASSERT_EQ(run(train("whole") + often).code, 0);
  const fs::path killed = folder / "killed";
  {
    Child child(train("killed") + often);
    wait_for([&] { return fs::exists(killed / "last") || !child.running(); });
    child.send(SIGKILL);
    child.wait();
  }
  const Result resumed = run("train -q --threads 1 --resume " + killed.string());
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  for (const char* model : {"last", "best"}) {
    EXPECT_EQ(read_file(killed / model / "model.safetensors").bytes,
              read_file(folder / "whole" / model / "model.safetensors").bytes)
        << model;
  }
}

}  // namespace
}  // namespace perceiver
