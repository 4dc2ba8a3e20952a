#include "perceiver/tasks/optical_flow/latents.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/config.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/media/image.h"
#include "perceiver/model/flops.h"
#include "perceiver/tasks/optical_flow/pixel_attention.h"
#include "perceiver/tasks/optical_flow/tiny_test.h"
#include "perceiver/tasks/query.h"

namespace perceiver {
namespace {

OpticalFlowConfig in_slices(FlowPatch patch, bool concat_frames) {
  OpticalFlowConfig c = tiny_flow(patch, concat_frames);
  c.decode_slice = 100;
  return c;
}

constexpr const char* kTiny = R"(
task = "optical_flow"
[model]
height = 16
width = 20
patch = "{}"
concat_frames = {}
num_bands = 4
patch_channels = 8
encoder = {{ num_latents = 8, latent_channels = 16, num_blocks = 1, self_attends_per_block = 2, self_attend = {{ num_heads = 2 }} }}
)";

class FlowLatentsTest : public testing::TestWithParam<std::tuple<FlowPatch, bool>> {
 protected:
  FlowLatentsTest() {
    at::manual_seed(3);
    model = OpticalFlow(config);
    model->eval();
    // The layers that put out flow start at zero.
    for (auto& p : model->named_parameters()) {
      if (p.value().dim() == 2 && p.value().size(0) == 2) p.value().normal_();
    }
  }

  at::NoGradGuard no_grad;
  OpticalFlowConfig config = in_slices(std::get<0>(GetParam()), std::get<1>(GetParam()));
  OpticalFlow model{nullptr};
  Tensor frames = at::randint(256, {2, 3, 21, 33}, at::kByte);
};

TEST_P(FlowLatentsTest, PixelsAreThoseOfTheWholeFlow) {
  const Tensor whole = tiled_flow(*model, frames).flatten(1).t();  // [H*W, 2]
  const Tensor latents = encode_tiles(*model, frames);
  EXPECT_EQ(latents.sizes(), (std::vector<int64_t>{6, 8, 16}));
  const Tensor all = flow_at(*model, latents, frames, at::arange(21 * 33));
  EXPECT_TRUE(at::allclose(all, whole, 1e-4, 1e-5));
  const Tensor some = at::tensor({0, 32, 5 * 33 + 7, 20 * 33, 20 * 33 + 32, 10 * 33 + 16});
  EXPECT_TRUE(at::allclose(flow_at(*model, latents, frames, some), whole.index_select(0, some),
                           1e-4, 1e-5));
}

TEST_P(FlowLatentsTest, FramesSmallerThanATileAreAskedInTheirMiddle) {
  const Tensor small = frames.narrow(2, 0, 9).narrow(3, 0, 11);
  const Tensor whole = tiled_flow(*model, small).flatten(1).t();
  const Tensor latents = encode_tiles(*model, small);
  EXPECT_EQ(latents.size(0), 1);
  EXPECT_TRUE(at::allclose(flow_at(*model, latents, small, at::tensor({0, 50, 98})),
                           whole.index_select(0, at::tensor({0, 50, 98})), 1e-4, 1e-5));
}

// Of the tile that counts most for the pixel, as far as it lies in the frames.
TEST_P(FlowLatentsTest, WhatAPixelWasReadFromLiesInItsTile) {
  Model loaded =
      new_model({"flow.toml", fmt::format(kTiny, to_word(config.patch), config.concat_frames)});
  const std::vector<File> files = {{"a.png", encode_png(frames[0])},
                                   {"b.png", encode_png(frames[1])}};
  const LatentsFile file = encode(loaded, files);
  const PixelAttention corner = attention_of_pixel(loaded, file, "32,20");
  EXPECT_EQ(corner.left, 13);
  EXPECT_EQ(corner.top, 5);
  EXPECT_EQ(corner.weights.sizes(), (std::vector<int64_t>{16, 20}));
  EXPECT_EQ(corner.weights.max().item<float>(), 1.0f);
  EXPECT_GE(corner.weights.min().item<float>(), 0.0f);

  const std::vector<File> small = {{"a.png", encode_png(frames[0].narrow(1, 0, 9))},
                                   {"b.png", encode_png(frames[1].narrow(1, 0, 9))}};
  const PixelAttention low = attention_of_pixel(loaded, encode(loaded, small), "0,8");
  EXPECT_EQ(low.left, 0);
  EXPECT_EQ(low.top, 0);
  EXPECT_EQ(low.weights.sizes(), (std::vector<int64_t>{9, 20}));
}

INSTANTIATE_TEST_SUITE_P(Variants, FlowLatentsTest,
                         testing::Combine(testing::Values(FlowPatch::k3x3, FlowPatch::k1x1,
                                                          FlowPatch::kConv),
                                          testing::Bool()));

TEST(FlowLatents, ATenthOfThePixelsCostsATenthOfTheDecoding) {
  at::NoGradGuard no_grad;
  at::manual_seed(3);
  const AttentionKernelScope reference("reference");
  const OpticalFlowConfig config = in_slices(FlowPatch::k3x3, true);
  OpticalFlow model(config);
  const Tensor frames = at::rand({1, 2, 3, 16, 20}), latents = at::randn({1, 8, 16});
  const auto flops = [&](int64_t pixels) {
    return recorded_flops([&] { model->decode_at(latents, frames, at::arange(pixels)); });
  };
  // Keys and values of the latents are made once, or once a slice of 100 queries.
  const double once = 2.0 * 2 * 8 * 16 * 16;
  EXPECT_EQ(flops(320) - 4 * once, 10 * (flops(32) - once));
  EXPECT_LT(flops(32), 0.11 * flops(320));
}

}  // namespace
}  // namespace perceiver
