#include "perceiver/tasks/optical_flow/pair.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

FlowPair still(int64_t height, int64_t width) {
  Tensor frames = at::zeros({2, 3, height, width}, at::kByte);
  frames[1].fill_(9);
  return {frames, at::zeros({2, height, width}), at::ones({height, width}, at::kBool)};
}

TEST(ReversedPair, FlowOfEachPixelIsTheMeanOfThoseThatEndThere) {
  FlowPair pair = still(1, 5);
  pair.flow[0][0] = at::tensor({2.2f, 1.4f, 0.0f, 0.0f, 9.0f});
  pair.valid[0][3] = false;
  const FlowPair back = reversed(pair);
  // Pixels 0, 1 and 2 end at 2; nothing ends elsewhere: 3 is unknown, 4 leaves the frame.
  EXPECT_TRUE(back.valid[0].equal(at::tensor({0, 0, 1, 0, 0}).to(at::kBool)));
  EXPECT_NEAR(back.flow[0][0][2].item<double>(), -1.2, 1e-6);
  EXPECT_EQ(back.flow[0][0][0].item<double>(), 0.0);
  EXPECT_TRUE(back.frames[0].eq(9).all().item<bool>());
  EXPECT_TRUE(back.frames[1].eq(0).all().item<bool>());
}

TEST(ReversedPair, HiddenPixelsEndNowhere) {
  FlowPair pair = still(1, 5);
  pair.flow[0][0][0] = 2.0;
  const Tensor hidden = at::tensor({0, 0, 1, 0, 0}).to(at::kBool).unsqueeze(0);
  EXPECT_NEAR(reversed(pair).flow[0][0][2].item<double>(), -1.0, 1e-6);
  EXPECT_NEAR(reversed(pair, hidden).flow[0][0][2].item<double>(), -2.0, 1e-6);
}

TEST(ReversedPair, TwiceIsThePairWhereNothingIsHidden) {
  FlowPair pair = still(6, 8);
  pair.flow[0].fill_(2.0), pair.flow[1].fill_(-1.0);
  const FlowPair twice = reversed(reversed(pair));
  EXPECT_TRUE(twice.frames.equal(pair.frames));
  EXPECT_EQ(twice.valid.sum().item<int64_t>(), 5 * 6);
  EXPECT_TRUE(twice.flow.equal(pair.flow * twice.valid));
}

}  // namespace
}  // namespace perceiver
