// Losses of a training's first steps against those it had when its task was first trained.
#pragma once

#include <gtest/gtest.h>

#include <vector>

namespace perceiver {

// Relative. On one thread, in float32, the same ten steps with other vector instructions (SSE 4.2
// to AVX-512, of LibTorch, MKL and oneDNN) end up to 2e-5 apart: rounding, which each step
// multiplies. The smallest step of any list is 2.7e-4, so one that is left out, or a learning rate
// off by half, cannot pass.
constexpr double kSameLosses = 1e-4;

inline void expect_losses(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], kSameLosses * expected[i]) << "step " << i;
  }
}

}  // namespace perceiver
