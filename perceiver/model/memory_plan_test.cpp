#include "perceiver/model/memory_plan.h"

#include <gtest/gtest.h>

#include "perceiver/model/perceiver_io.h"

namespace perceiver {
namespace {

TEST(MemoryPlan, TheStageThatHoldsMostDecides) {
  ModelSummary s{.inputs = {1000, 10},
                 .latents = ArraySize{8, 4},
                 .queries = ArraySize{500, 6},
                 .outputs = {500, 2}};
  s.parts = {{.name = "encoder.cross_attend",
              .parameters = 100,
              .attention =
                  AttentionCase{.queries = 8, .keys = 1000, .qk_channels = 10, .v_channels = 10}}};
  const MemoryPlan plan =
      plan_memory(s, {.device = assumed_hardware("h200"), .batch = 2}, /*slice=*/100);
  EXPECT_EQ(plan.weights, 400);
  EXPECT_EQ(plan.encode, 2 * 4 * (2 * 10'000 + 20'000 + 8 * 20));
  EXPECT_EQ(plan.peak(), plan.weights + plan.encode);
}

// An encoder over 1,000 elements of 10 channels, which are not projected, and a decoder of 300
// queries, 100 at a time.
ModelSummary small_summary() {
  const PerceiverIo model(PerceiverIoChannels{.inputs = 10, .queries = 6, .outputs = 2},
                          EncoderConfig{.num_latents = 8,
                                        .latent_channels = 16,
                                        .num_blocks = 2,
                                        .self_attends_per_block = 1,
                                        .cross_attend = {.num_heads = 1},
                                        .self_attend = {.num_heads = 4}},
                          DecoderConfig{});
  ModelSummary s{.inputs = {1000, 10},
                 .latents = ArraySize{8, 16},
                 .queries = ArraySize{300, 6},
                 .outputs = {300, 2}};
  s.parts = model->parts(1000, 300);
  return s;
}

TEST(MemoryPlan, OfACpuCountsThePackedWeightsAndTheWayThere) {
  const ModelSummary s = small_summary();
  const MemoryPlan plan = plan_memory(s, {}, /*slice=*/100);
  int64_t of_attends = 0, most = 0;
  for (const Part& part : s.parts) {
    if (!part.attention) continue;
    of_attends += part.parameters;
    most = std::max(most, part.parameters);
  }
  EXPECT_EQ(plan.weights, 4 * s.parameters());
  EXPECT_EQ(plan.packed, 4 * of_attends);
  EXPECT_EQ(plan.packing, 12 * most);
  EXPECT_EQ(plan.inputs, 4 * 10'000);
  EXPECT_EQ(plan.peak(), plan.program + plan.weights + plan.of_pass());
}

TEST(MemoryPlan, GrowsWithTheBatchAndTheSliceAndNotTheWeights) {
  const ModelSummary s = small_summary();
  const MemoryPlan one = plan_memory(s, {}, 100), four = plan_memory(s, {.batch = 4}, 100);
  EXPECT_EQ(four.inputs, 4 * one.inputs);
  EXPECT_EQ(four.encode, 4 * one.encode);
  EXPECT_EQ(four.weights + four.packed, one.weights + one.packed);
  EXPECT_LT(one.decode, plan_memory(s, {}, 200).decode);
  EXPECT_EQ(plan_memory(s, {}, 300).decode, plan_memory(s, {}, 1000).decode);
}

// 8 latents by 1,000 elements, and their softmax: Hopper's kernel streams them.
TEST(MemoryPlan, CountsTheScoresThatAGpuHolds) {
  const ModelSummary s = small_summary();
  const auto encode = [&](std::string_view device) {
    return plan_memory(s, {.device = assumed_hardware(device), .dtype = at::kBFloat16}, 100).encode;
  };
  EXPECT_EQ(encode("a100") - encode("h200"), 2 * 8 * 1000 * 2);
}

// Without tiles for the dtype the modules themselves compute, on stored and projected arrays.
TEST(MemoryPlan, WithoutAnInferenceFormNothingIsPacked) {
  const MemoryPlan plan = plan_memory(small_summary(), {.dtype = at::kHalf}, 100);
  EXPECT_EQ(plan.packed + plan.packing + plan.inputs, 0);
  EXPECT_GT(plan.encode, 2 * 2 * 10'000);
}

}  // namespace
}  // namespace perceiver
