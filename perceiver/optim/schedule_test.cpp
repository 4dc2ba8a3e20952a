#include "perceiver/optim/schedule.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

// App. A: 2e-3 for the first half of 137,625 steps, then a cosine to 0; no warm-up.
TEST(ConstantCosine, IsImageNetsSchedule) {
  const auto rate = [](int64_t step) { return constant_cosine(2e-3, step, 1000, 0.5); };
  EXPECT_EQ(rate(0), 2e-3);
  EXPECT_EQ(rate(499), 2e-3);
  EXPECT_EQ(rate(500), 2e-3);
  EXPECT_NEAR(rate(750), 1e-3, 1e-12);
  EXPECT_NEAR(rate(625), 2e-3 * 0.8535533905932737, 1e-12);  // (1 + cos(pi / 4)) / 2
  EXPECT_NEAR(rate(1000), 0.0, 1e-12);
  EXPECT_EQ(constant_cosine(0.1, 999, 1000, 1.0), 0.1);
}

// App. F: 1,000 steps up to 1.25e-3, a cosine over the rest.
TEST(WarmupCosine, IsLanguagesSchedule) {
  const auto rate = [](int64_t step) { return warmup_cosine(1.25e-3, step, 5000, 1000); };
  EXPECT_EQ(rate(0), 0.0);
  EXPECT_NEAR(rate(500), 0.625e-3, 1e-12);
  EXPECT_NEAR(rate(1000), 1.25e-3, 1e-12);
  EXPECT_NEAR(rate(3000), 0.625e-3, 1e-12);
  EXPECT_NEAR(rate(5000), 0.0, 1e-12);
  EXPECT_EQ(warmup_cosine(0.1, 0, 10, 0), 0.1);
}

}  // namespace
}  // namespace perceiver
