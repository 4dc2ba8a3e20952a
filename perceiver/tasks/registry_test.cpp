#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/model/flops.h"
#include "perceiver/nn/layers.h"
#include "perceiver/tasks/task.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

std::string error_of(const std::string& text) {
  try {
    make_task(File{"x.toml", text});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(MakeTask, MistakesInAConfigAreOneLineEach) {
  EXPECT_EQ(error_of(""), "x.toml: the key 'task' is missing");
  EXPECT_EQ(error_of("task = 3"), "x.toml:1: 'task' must be a string");
  EXPECT_TRUE(error_of("task = \"optical_flo\"")
                  .starts_with("x.toml: unknown task 'optical_flo'; did you mean 'optical_flow'?; "
                               "known: "));
  EXPECT_EQ(error_of("task = \"optical_flow\"\n[model.encoder]\nnum_latent = 3"),
            "x.toml:3: unknown key 'model.encoder.num_latent'; did you mean "
            "'model.encoder.num_latents'?");
  EXPECT_EQ(error_of("task = \"optical_flow\"\nmodel.encoder.num_latents = \"many\""),
            "x.toml:2: 'model.encoder.num_latents' must be an integer");
  EXPECT_EQ(error_of("task = \"imagenet\"\nmodel.encoder.self_attend.num_heads = 5"),
            "x.toml: model.encoder.self_attend: qk_channels (1024) and v_channels (1024) must be "
            "multiples of num_heads (5)");
}

// Each would be built for ever, overflow, or take all memory.
TEST(MakeTask, SizesThatNoFileOfWeightsHasAreOneLineEach) {
  const auto error_with = [](const std::string& task, const std::string& line) {
    return error_of(fmt::format("task = \"{}\"\nmodel.{}", task, line));
  };
  EXPECT_EQ(error_with("starcraft", "encoder.self_attends_per_block = 1000000"),
            "x.toml: model.encoder.self_attends_per_block must be at most 1024, got 1000000");
  EXPECT_EQ(error_with("language", "encoder.num_blocks = 1000000"),
            "x.toml: model.encoder.num_blocks must be at most 1024, got 1000000");
  EXPECT_EQ(error_with("bert", "transformer.num_layers = 1025"),
            "x.toml:2: 'model.transformer.num_layers' must be at most 1024, got 1025");
  EXPECT_EQ(error_with("glue", "query_channels = 1000000000000"),
            "x.toml:2: 'model.query_channels' must be at most 16777216, got 1000000000000");
  EXPECT_EQ(
      error_with("imagenet", "image_size = 16777216"),
      "x.toml: model.image_size: 1 x 16777216 x 16777216 pixels, expected at most 2147483648");
  EXPECT_EQ(error_with("optical_flow", "height = 16777216"),
            "x.toml: model.height, width: 2 x 16777216 x 496 pixels, expected at most 2147483648");
  EXPECT_EQ(error_with("multimodal", "num_frames = 16777216"),
            "x.toml: model.num_frames, image_size: 16777216 x 224 x 224 pixels, expected at most "
            "2147483648");
  EXPECT_EQ(error_with("audioset", "mel.num_energies = 10000"),
            "x.toml:2: 'model.mel.num_energies' must be at most 4096, got 10000");
}

// 2^24 latents of 2^24 channels are 2^48 parameters; 2^24 tokens of 2^15 channels are 2 TiB.
TEST(MakeTask, ModelsThatNoMemoryHoldsAreRefusedBeforeTheyTakeAny) {
  EXPECT_TRUE(error_of("task = \"imagenet\"\n"
                       "model.encoder = {num_latents = 16777216, latent_channels = 16777216}")
                  .ends_with(" parameters and more, expected at most 1,099,511,627,776"));
  EXPECT_TRUE(error_of("task = \"bert\"\nmodel.vocabulary_size = 16777216\n"
                       "model.input_channels = 24576\n")
                  .ends_with(" GiB are free"));
}

// Every config the project ships, at full size, without memory.
TEST(Configs, PartsAddUpToTheParametersOfTheModule) {
  for (const fs::path& path : sorted_entries(shipped("configs"))) {
    if (path.filename() == "paper.toml") continue;
    const ConstructScope scope(Construct::kWithoutMemory);
    const std::unique_ptr<Task> task = make_task(read_file(path));
    const ModelSummary summary = task->summary(Split::kEval);
    EXPECT_EQ(summary.parameters(), num_parameters(task->model())) << path;
    EXPECT_GT(summary.flops(), 0) << path;
  }
}

// The proof of the ledger's FLOPs: what a small twin of each task says of itself is what its
// forward pass calls. Twins of every variant are beside the tasks' own tests.
TEST(Configs, MinisFlopsAreThoseTheForwardPassCalls) {
  at::NoGradGuard no_grad;
  int64_t minis = 0;
  for (const fs::path& path : sorted_entries(shipped("configs"))) {
    if (!path.stem().string().ends_with("_mini")) continue;
    const std::unique_ptr<Task> task = make_task(read_file(path));
    task->model().eval();
    for (const Split split : {Split::kTrain, Split::kEval}) {
      Tensor outputs;
      const int64_t recorded = recorded_flops([&] { outputs = task->forward_random(1, split); });
      EXPECT_EQ(task->summary(split).flops(), recorded) << path;
      EXPECT_TRUE(outputs.isfinite().all().item<bool>()) << path;
    }
    ++minis;
  }
  EXPECT_GE(minis, 2);
}

}  // namespace
}  // namespace perceiver
