#include "perceiver/kernels/graph_recorder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

// Doubles its input. How often it was called, and not replayed, is counted.
struct Doubled {
  std::vector<Tensor> pass(const std::vector<Tensor>& x) {
    ++calls;
    return {x[0] * 2};
  }

  // -> whether it was a replay
  bool operator()(const Tensor& x) {
    const auto run = [this](const std::vector<Tensor>& in) { return pass(in); };
    const auto replayed = recorder.replay({x}, constants, run);
    const Tensor out = replayed ? replayed->front() : run({x}).front();
    EXPECT_TRUE(out.equal(x * 2));
    return replayed.has_value();
  }

  GraphRecorder recorder;
  std::vector<Tensor> constants = {};
  int calls = 0;
};

Tensor of_size(int64_t size) { return at::rand({size}, at::kCUDA); }

TEST(GraphRecorder, LeavesACpuToTheCaller) {
  Doubled doubled;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(doubled(at::ones({3})));
  EXPECT_EQ(doubled.calls, 5);
}

TEST(GraphRecorder, RecordsTheThirdPassOfASize) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  Doubled doubled;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(doubled(of_size(3)), i >= 2) << i;
  EXPECT_EQ(doubled.calls, 4);  // two, one on the recording's stream, one recorded
}

TEST(GraphRecorder, BeginsAnewWhenAConstantHasChanged) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  Doubled doubled;
  doubled.constants = {at::ones({2}, at::kCUDA)};
  for (int i = 0; i < 3; ++i) doubled(of_size(3));
  doubled.constants[0].add_(1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(doubled(of_size(3)), i >= 2) << i;
}

// Eight sizes at most, and each keeps its place while it is used.
TEST(GraphRecorder, GivesTheLongestUnusedSizesPlaceToANewOne) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  Doubled doubled;
  for (int64_t size = 1; size <= 8; ++size) {
    for (int i = 0; i < 3; ++i) doubled(of_size(size));
  }
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(doubled(of_size(9)));
  EXPECT_TRUE(doubled(of_size(1)));
  for (int i = 0; i < 300; ++i) doubled(of_size(9));
  EXPECT_TRUE(doubled(of_size(9)));
  EXPECT_TRUE(doubled(of_size(1)));
  EXPECT_FALSE(doubled(of_size(2)));
}

// A size that comes once leaves no room taken.
TEST(GraphRecorder, ForgetsSizesSeenTooSeldomToBeRecorded) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  Doubled doubled;
  for (int64_t size = 1; size <= 20; ++size) doubled(of_size(size));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(doubled(of_size(50)), i == 2);
}

}  // namespace
}  // namespace perceiver
