// Ten losses of ten steps of GLUE's models on a tiny fixed batch, as tests/ten_losses_test.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/tasks/glue/files_test.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/tiny_test.h"
#include "tests/ten_losses.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTrain = R"(
[train]
optimizer = "adamw"
learning_rate = 0.003
weight_decay = 0.0
steps = 200
batch = 16
)";

File tiny_glue() {
  return {"tiny_glue.toml", R"(
task = "glue"
[model]
num_inputs = 32
input_channels = 16
query_channels = 16
token_init_scale = 0.5
[model.encoder]
num_latents = 8
latent_channels = 16
self_attends_per_block = 2
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
self_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
[model.decoder]
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
)" + std::string(kTrain)};
}

File tiny_glue_bert() {
  return {"tiny_glue_bert.toml", R"(
task = "glue_bert"
[model]
vocabulary_size = 262
num_inputs = 32
input_channels = 16
transformer = { num_layers = 2, num_heads = 2, mlp_channels = 32 }
)" + std::string(kTrain)};
}

class GlueLosses : public testing::Test {
 protected:
  void SetUp() override { write_glue(folder, GlueLayout::kTsv, 64); }
  void TearDown() override { fs::remove_all(folder); }

  Model make(const File& config, std::vector<std::string> overrides) const {
    overrides.insert(overrides.begin(), "data.train=['" + folder.string() + "']");
    at::manual_seed(0);
    return new_model(config, overrides);
  }

  std::vector<double> ten(const File& config, std::vector<std::string> overrides) const {
    at::set_num_threads(1);  // sums are added up in the same order on every machine
    overrides.push_back("train.overfit_batch=true");
    Model model = make(config, overrides);
    Trainer trainer(model, {});
    return losses(trainer, 10);
  }

  // One batch is learned by heart: the loss after 200 steps as a share of the first.
  double share_left(const File& config, std::vector<std::string> overrides) const {
    at::set_num_threads(1);
    overrides.push_back("train.overfit_batch=true");
    Model model = make(config, overrides);
    Trainer trainer(model, {});
    const std::vector<double> all = losses(trainer, 200);
    return all.back() / all.front();
  }

  fs::path folder = fs::path(testing::TempDir()) / ("glue_" + std::to_string(getpid()));
};

const std::vector<std::string> kSingle = {"model.variant=single", "model.tasks=['mnli']"};

// The first loss of three classes is near ln 3.
TEST_F(GlueLosses, OneTask) {
  expect_losses(ten(tiny_glue(), kSingle), {1.098950, 0.730708, 0.593940, 0.472541, 0.397992,
                                            0.345426, 0.295299, 0.256855, 0.227388, 0.203670});
}

TEST_F(GlueLosses, EightTasksByQueries) {
  expect_losses(ten(tiny_glue(), {}), {2.189622, 1.583554, 1.233618, 0.985823, 0.816073, 0.703171,
                                       0.612446, 0.528547, 0.452255, 0.386735});
}

TEST_F(GlueLosses, Bert) {
  expect_losses(ten(tiny_glue_bert(), {}), {1.763316, 1.099763, 0.875115, 0.715977, 0.610749,
                                            0.514903, 0.437190, 0.382799, 0.339081, 0.295093});
}

TEST_F(GlueLosses, EveryVariantLearnsABatchByHeart) {
  EXPECT_LT(share_left(tiny_glue(), kSingle), 0.1);
  for (const char* variant : {"multitask_query", "shared_token", "task_tokens"}) {
    EXPECT_LT(share_left(tiny_glue(), {std::string("model.variant=") + variant}), 0.1) << variant;
  }
  EXPECT_LT(share_left(tiny_glue_bert(), {}), 0.1);
}

// The same examples, whichever way they are written.
TEST_F(GlueLosses, BothLayoutsGiveTheSameNumbers) {
  at::set_num_threads(1);
  const fs::path json = folder / "json";
  write_glue(json, GlueLayout::kJsonLines, 64);
  Model of_tsv = make(tiny_glue(), {}),
        of_json = make(tiny_glue(), {"data.train=['" + json.string() + "']"});
  Trainer a(of_tsv, {}), b(of_json, {});
  EXPECT_EQ(losses(a, 3), losses(b, 3));
  const auto figures = [](Model& model) {
    return evaluate(*model.task, *training_of(model).dataset(Split::kEval), {}).figures;
  };
  const auto measured = figures(of_tsv);
  EXPECT_EQ(measured, figures(of_json));
  EXPECT_EQ(measured.size(), 12u) << "eight tasks, two more figures of three, and the average";
}

}  // namespace
}  // namespace perceiver
