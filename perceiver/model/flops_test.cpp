#include "perceiver/model/flops.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/model/perceiver_io.h"
#include "perceiver/nn/transformer.h"

namespace perceiver {
namespace {

TEST(RecordedFlops, CountsTwoForEachMultiplyAccumulate) {
  const Tensor a = at::randn({3, 4}), b = at::randn({4, 5});
  EXPECT_EQ(recorded_flops([&] { at::mm(a, b); }), 2 * 3 * 4 * 5);
  EXPECT_EQ(recorded_flops([&] {
              at::matmul(at::randn({2, 3, 4}), at::randn({2, 4, 5}));
            }),
            2 * 2 * 3 * 4 * 5);
  EXPECT_EQ(recorded_flops([&] {
              at::linear(at::randn({2, 3, 4}), b.t(), at::randn({5}));
            }),
            2 * 6 * 4 * 5);
  EXPECT_EQ(recorded_flops([&] {
              at::conv2d(at::randn({1, 3, 9, 9}), at::randn({8, 3, 7, 7}), {}, 2);
            }),
            2 * (2 * 2 * 8) * (3 * 7 * 7));
  EXPECT_EQ(recorded_flops([&] { at::randn({3, 4}).exp(); }), 0);
}

TEST(RecordedFlops, LeaveOutWhatTheFirstCallMakesOnce) {
  const Tensor a = at::randn({3, 4}), b = at::randn({4, 5});
  Tensor packed;
  EXPECT_EQ(recorded_flops([&] {
              if (!packed.defined()) packed = at::mm(a, b);
              at::mm(packed, b.t());
            }),
            2 * 3 * 5 * 4);
}

TEST(RecordedFlops, AreWhatPerceiverIoSaysOfItself) {
  at::NoGradGuard no_grad;
  const EncoderConfig encoder{.num_latents = 6,
                              .latent_channels = 16,
                              .num_blocks = 3,
                              .self_attends_per_block = 2,
                              .num_cross_attends = 2,
                              .cross_attend = {.num_heads = 2, .qk_channels = 8, .v_channels = 12},
                              .self_attend = {.num_heads = 4, .widening_factor = 3}};
  PerceiverIo model(PerceiverIoChannels{.inputs = 20, .queries = 12, .outputs = 5}, encoder,
                    DecoderConfig{});
  ModelSummary summary;
  summary.add("", model->parts(30, 11));
  const int64_t recorded = recorded_flops([&] {
    model->forward(at::randn({1, 30, 20}), at::randn({1, 11, 12}));
  });
  EXPECT_EQ(summary.flops(), recorded);
}

TEST(RecordedFlops, AreWhatTheTransformerSaysOfItself) {
  at::NoGradGuard no_grad;
  Transformer model(
      16, TransformerConfig{
              .num_layers = 2, .num_heads = 2, .mlp_channels = 24, .attention_channels = 20});
  int64_t said = 0;
  for (const TransformerLayer& layer : model->layers()) said += layer->flops(9);
  EXPECT_EQ(recorded_flops([&] { model->forward(at::randn({1, 9, 16})); }), said);
}

}  // namespace
}  // namespace perceiver
