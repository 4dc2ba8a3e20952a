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
