// Ten losses of ten steps on a tiny batch of generated pairs: as ten_losses_test.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

// A step multiplies differences of rounding between machines; more than this is no rounding.
constexpr double kRelative = 2e-3;

File tiny_flow_config() {
  return {"tiny_flow.toml", R"(
task = "optical_flow"
[model]
height = 16
width = 24
num_bands = 4
patch_channels = 8
[model.encoder]
num_latents = 8
latent_channels = 16
num_blocks = 1
self_attends_per_block = 2
self_attend.num_heads = 2
[data]
pairs = 8
generator.textures = 4
generator.slowest = 0.2
generator.fastest = 0.2
[train]
learning_rate = 0.01
steps = 200
batch = 4
overfit_batch = true
)"};
}

std::vector<double> flow_losses(const std::vector<std::string>& overrides, int steps) {
  at::set_num_threads(1);  // models this small are faster so, on a busy machine by far
  at::manual_seed(0);
  Model model{.source = "tiny_flow.toml",
              .origin = Reference::kDeepMind,
              .settings = model_settings(tiny_flow_config(), overrides),
              .task = make_task(tiny_flow_config(), overrides)};
  Trainer trainer(model, {});
  return losses(trainer, steps);
}

void expect_losses(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], kRelative * expected[i]) << "step " << i;
  }
}

TEST(TenLossesOfFlow, PatchesByAdamW) {
  expect_losses(
      flow_losses({"train.optimizer=adamw", "train.learning_rate=0.03", "train.clip=1.0"}, 10),
      {0.1358, 0.1372, 0.1422, 0.1386, 0.1373, 0.1361, 0.1353, 0.1321, 0.1274, 0.1226});
}

TEST(TenLossesOfFlow, ConvolutionAndUpsamplingByLamb) {
  expect_losses(flow_losses({"model.patch=conv", "train.learning_rate=0.03", "train.clip=1.0"}, 10),
                {0.1358, 0.1363, 0.1369, 0.1342, 0.1342, 0.1333, 0.1305, 0.1265, 0.1241, 0.1210});
}

TEST(TenLossesOfFlow, OneBatchIsLearntByHeart) {
  const std::vector<double> all = flow_losses(
      {"model.num_bands=8", "model.patch_channels=32", "model.encoder.num_latents=32",
       "model.encoder.latent_channels=64", "data.augmented=false", "data.reversed_share=0.0",
       "data.generator.most_things=2", "train.optimizer=adamw", "train.learning_rate=3e-3",
       "train.schedule=warmup_cosine", "train.warmup_steps=50", "train.steps=400",
       "train.clip=1.0"},
      400);
  EXPECT_LT(all.back(), 0.05 * all.front());
}

}  // namespace
}  // namespace perceiver
