// Sounds trained on and measured through a shell, as a user would.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "perceiver/media/sound.h"
#include "tests/child.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliAudioSet : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder / "tones");
    for (int i = 0; i < 24; ++i) {
      const at::Tensor tone = (at::arange(3000) * (0.2 + 0.5 * (i % 2)) + i).sin() * 0.5;
      write_file(folder / "tones" / fmt::format("{}_ann_{}.wav", i % 2 ? "high" : "low", i),
                 encode_wav({tone.view({1, -1}), 8000}));
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  // The small config, made smaller still.
  std::string train(const std::string& name) const {
    return "train audioset_mini -q --threads 1 --data " + path("tones") + " -o " + path(name) +
           " model.num_classes=2 model.encoder.num_latents=4 model.encoder.self_attends_per_block=1"
           " train.batch=4 train.epochs=0 train.warmup_steps=0";
  }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_sounds_" + std::to_string(getpid()));
};

TEST_F(CliAudioSet, ARunIsMeasuredAndAskedByTheNamesInTheFiles) {
  const Result trained = run(train("run") + " train.steps=3");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Result measured = run("eval -q --threads 1 --json " + path("run"));
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Json json = Json::parse(measured.out);
  EXPECT_EQ(json["examples"], 5);  // takes 5 to 9
  const double high = json["average_precision"]["high"], low = json["average_precision"]["low"];
  EXPECT_NEAR(json["mean_average_precision"].get<double>(), (high + low) / 2.0, 1e-9);
  EXPECT_TRUE(json.contains("top_1") && json.contains("loss"));
  const Result table = run("eval -q --threads 1 " + path("run"));
  EXPECT_EQ(table.out.find("average_precision"), std::string::npos) << table.out;

  const Result asked =
      run("classify -q --json -m " + path("run") + " " + path("tones/low_ann_0.wav"));
  ASSERT_EQ(asked.code, 0) << asked.err;
  const Json top = Json::parse(asked.out)[0]["top"];
  EXPECT_NEAR(top[0]["probability"].get<double>() + top[1]["probability"].get<double>(), 1.0, 1e-5);
}

TEST_F(CliAudioSet, KilledARunComesToTheSameWeights) {
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
