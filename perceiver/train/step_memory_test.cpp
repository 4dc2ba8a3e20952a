#include "perceiver/train/step_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

TEST(PeakTensorBytes, CountsWhatIsHeldAtOnce) {
  const auto make = [](int64_t values) { return at::empty({values}, at::kFloat); };
  const int64_t kept =
      peak_tensor_bytes([&] { const at::Tensor a = make(1'000'000), b = make(1'000'000); });
  const int64_t dropped = peak_tensor_bytes([&] {
    make(1'000'000);
    make(1'000'000);
  });
  EXPECT_EQ(kept, 8'000'000);
  EXPECT_EQ(dropped, 4'000'000);
}

TEST(CheckMemory, ARunThatDoesNotFitIsRefusedWithSettingsThatWould) {
  const StepMemory step{.fixed = 2 * kGib, .per_example = kGib};
  TrainConfig config;
  config.batch = 12;
  EXPECT_EQ(error_of([&] { check_memory(step, config, 14 * kGib); }), "no error");
  EXPECT_EQ(error_of([&] { check_memory(step, config, 7 * kGib); }),
            "a step of 12 examples at once takes about 14.0 GiB of memory, 7.0 are free; "
            "train.accumulate=3 takes about 6.0 and trains the same");
  EXPECT_EQ(error_of([&] { check_memory(step, config, 2 * kGib); }),
            "a step of 12 examples at once takes about 14.0 GiB of memory, 2.0 are free, and one "
            "example takes about 3.0; try train.recompute=true, or a smaller model");
}

}  // namespace
}  // namespace perceiver
