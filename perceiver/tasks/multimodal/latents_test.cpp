#include "perceiver/tasks/multimodal/latents.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/model/flops.h"

namespace perceiver {
namespace {

class ClipLatentsTest : public testing::Test {
 protected:
  ClipLatentsTest() {
    at::manual_seed(1);
    model = Multimodal(config);
    latents = at::randn({3, 6, 16});
    const Modalities all = model->decode_all(latents);
    image = all.at("image").clamp(0.0, 1.0).flatten(0, 1);  // [6, 3, 8, 8]
    audio = all.at("audio").clamp(-1.0, 1.0).flatten();
    label = all.at("label");
  }

  at::NoGradGuard no_grad;
  MultimodalConfig config{.num_frames = 2,
                          .image_size = 8,
                          .samples_per_frame = 48,
                          .num_image_bands = 3,
                          .num_audio_bands = 5,
                          .num_classes = 11,
                          .label_query_channels = 20,
                          .output_channels = 12,
                          .train_queries = {.audio = 4, .image = 7},
                          .encoder = {.num_latents = 6,
                                      .latent_channels = 16,
                                      .num_blocks = 1,
                                      .self_attends_per_block = 2},
                          .decode_slice = 50};
  Multimodal model{nullptr};
  Tensor latents, image, audio, label;  // of three chunks, and all that they say
};

TEST_F(ClipLatentsTest, PixelsAreThoseOfTheWholeClip) {
  const Tensor frames = at::tensor({5, 0, 3}), pixels = at::tensor({0, 9, 63});
  const Tensor expected = image.flatten(2).index_select(0, frames).index_select(2, pixels);
  const Tensor colours = pixels_at(*model, latents, frames, pixels);
  EXPECT_TRUE(at::allclose(colours, expected.transpose(1, 2), 1e-4, 1e-5));
  const Tensor whole = pixels_at(*model, latents, at::arange(6), at::arange(64));
  EXPECT_TRUE(at::allclose(whole, image.flatten(2).transpose(1, 2), 1e-4, 1e-5));
}

TEST_F(ClipLatentsTest, SamplesAreThoseOfTheWholeClip) {
  for (const auto& [begin, end] : {std::pair{0, 288}, {3, 4}, {90, 200}, {96, 192}}) {
    EXPECT_TRUE(at::allclose(samples_at(*model, latents, begin, end), audio.slice(0, begin, end),
                             1e-4, 1e-5))
        << begin;
  }
}

TEST_F(ClipLatentsTest, TheLabelIsTheMeanOfTheChunks) {
  EXPECT_TRUE(at::allclose(label_of(*model, latents), label.softmax(-1).mean(0), 1e-4, 1e-6));
}

TEST_F(ClipLatentsTest, OneFrameOfAChunkCostsItsShareOfTheDecoding) {
  config.decode_slice = 1000;
  model = Multimodal(config);
  const AttentionKernelScope reference("reference");
  const auto flops = [&](int64_t num_pixels) {
    return recorded_flops(
        [&] { pixels_at(*model, latents, at::zeros({1}, at::kLong), at::arange(num_pixels)); });
  };
  const double once = 2.0 * 2 * 6 * 16 * 16;  // keys and values of the latents
  EXPECT_EQ(flops(60) - once, 10 * (flops(6) - once));
  EXPECT_LT(flops(6), 0.15 * flops(60));
}

}  // namespace
}  // namespace perceiver
