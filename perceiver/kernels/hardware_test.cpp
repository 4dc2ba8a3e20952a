#include "perceiver/kernels/hardware.h"

#include <gtest/gtest.h>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/attention/gpu_limits.h"
#include "perceiver/kernels/cpu/tiles.h"

namespace perceiver {
namespace {

TEST(Hardware, OfThisCpuHasTheTilesThatRun) {
  const Hardware here;
  EXPECT_TRUE(here.is_cpu());
  EXPECT_TRUE(here.name.empty());
  EXPECT_EQ(here.float_tiles, float_tiles().name);
  EXPECT_EQ(here.bf16_tiles.empty(), bf16_tiles() == nullptr);
}

TEST(Hardware, ThatIsAssumedHasANameAndIsWhole) {
  for (const std::string& name : assumable_hardware()) {
    const Hardware& hardware = assumed_hardware(name);
    EXPECT_FALSE(hardware.name.empty()) << name;
    EXPECT_EQ(hardware.float_tiles.empty(), hardware.is_cuda()) << name;
    EXPECT_EQ(hardware.gpu.has_kernels, hardware.is_cuda()) << name;
    EXPECT_EQ(hardware.gpu.memory > 0 && hardware.gpu.multiprocessors > 0, hardware.is_cuda());
  }
  EXPECT_THROW(assumed_hardware("tpu"), Error);
}

// Language's self-attends: 256 latents, heads of 32 and 160 channels.
AttentionCase language_self_attend(std::string_view device) {
  return {.device = assumed_hardware(device),
          .dtype = at::kBFloat16,
          .heads = 8,
          .queries = 256,
          .keys = 256,
          .qk_channels = 32,
          .v_channels = 160};
}

// What the kernels ask of a block's shared memory, by hand: 256 rows of 32 + 8 and 160 + 8 16-bit
// channels, and a float for each key's score. With gradients queries, keys, the output's gradient
// and 128 keys' values, score gradients turned twice, and sums in float32.
TEST(GpuLimits, ASelfAttendsGradientsFitAHopperAlone) {
  EXPECT_EQ(resident::forward_bytes(32, 160, 256), 256 * (2 * (40 + 168) + 4));
  EXPECT_EQ(
      resident::gradient_bytes({.queries = 256, .keys = 256, .qk_channels = 32, .v_channels = 160}),
      2 * (512 * 40 + 384 * 168 + 2 * 128 * 40) + 4 * (2 * 256 + 256 * 32));
  for (const char* device : {"a100", "h200"}) {
    AttentionCase c = language_self_attend(device);
    EXPECT_EQ(select_attention_kernel(c).name, "resident") << device;
    c.needs_grad = true;
    EXPECT_EQ(select_attention_kernel(c).name, device[0] == 'h' ? "resident" : "library");
  }
}

TEST(GpuLimits, AProgramWithoutKernelsSaysSo) {
  Hardware gpu = assumed_hardware("h200");
  gpu.gpu.has_kernels = false;
  AttentionCase c = language_self_attend("h200");
  c.device = gpu;
  EXPECT_EQ(select_attention_kernel(c).name, "library");
  EXPECT_EQ(attention_refusals(c)[1], "resident: this program was built without CUDA kernels");
  gpu.gpu = {.has_kernels = true};
  c.device = gpu;
  EXPECT_EQ(attention_refusals(c)[1], "resident: there is no GPU here");
}

}  // namespace
}  // namespace perceiver
