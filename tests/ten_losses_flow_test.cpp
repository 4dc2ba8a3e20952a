// Ten losses of ten steps on a tiny batch of generated pairs: as ten_losses_test.cpp, they are of
// our own first run, the same with one thread and with two; other tests say why it is right.
#include <ATen/ATen.h>
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
generator.slowest = 0.04
[train]
learning_rate = 0.01
steps = 200
batch = 4
overfit_batch = true
)"};
}

std::vector<double> flow_losses(const std::vector<std::string>& overrides, int steps) {
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

TEST(TenLossesOfFlow, PatchesByLamb) {
  expect_losses(flow_losses({}, 10), {0.057840, 0.058204, 0.057973, 0.057942, 0.057895, 0.057954,
                                      0.057922, 0.057791, 0.057852, 0.057660});
}

TEST(TenLossesOfFlow, ConvolutionAndUpsamplingByAdamW) {
  expect_losses(flow_losses({"model.patch=conv", "train.optimizer=adamw", "train.clip=1.0"}, 10),
                {0.057840, 0.057918, 0.058798, 0.057456, 0.057224, 0.052651, 0.051445, 0.049381,
                 0.049183, 0.049701});
}

TEST(TenLossesOfFlow, OneBatchIsLearntByHeart) {
  const std::vector<double> all = flow_losses({"train.optimizer=adamw", "train.clip=1.0"}, 150);
  EXPECT_LT(all.back(), 0.35 * all.front());
}

}  // namespace
}  // namespace perceiver
