// Ten losses of ten steps on a tiny batch of generated pairs: as ten_losses_test.cpp.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "perceiver/train/tiny_test.h"
#include "tests/ten_losses.h"

namespace perceiver {
namespace {

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
generated_size = 1.0
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
  Model model = new_model(tiny_flow_config(), overrides);
  Trainer trainer(model, {});
  return losses(trainer, steps);
}

TEST(TenLossesOfFlow, PatchesByAdamW) {
  expect_losses(
      flow_losses({"train.optimizer=adamw", "train.learning_rate=0.03", "train.clip=1.0"}, 10),
      {0.135796, 0.137240, 0.142170, 0.138559, 0.137266, 0.136117, 0.135291, 0.132124, 0.127377,
       0.122554});
}

TEST(TenLossesOfFlow, ConvolutionAndUpsamplingByLamb) {
  expect_losses(flow_losses({"model.patch=conv", "train.learning_rate=0.03", "train.clip=1.0"}, 10),
                {0.135796, 0.136267, 0.136871, 0.134234, 0.134197, 0.133305, 0.130494, 0.126454,
                 0.124057, 0.121036});
}

TEST(TenLossesOfFlow, OneBatchIsLearntByHeart) {
  const std::vector<double> all =
      flow_losses({"model.num_bands=8", "model.patch_channels=32", "model.encoder.num_latents=32",
                   "model.encoder.latent_channels=64", "data.augmented=false",
                   "data.both_ways=false", "data.generator.most_things=2", "train.optimizer=adamw",
                   "train.learning_rate=3e-3", "train.schedule=warmup_cosine",
                   "train.warmup_steps=50", "train.steps=400", "train.clip=1.0"},
                  400);
  EXPECT_LT(all.back(), 0.05 * all.front());
}

}  // namespace
}  // namespace perceiver
