#include "perceiver/modalities/text_pair.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(PairIds, HaveASeparatorAndTheLongerTextIsCroppedFirst) {
  EXPECT_EQ(pair_ids({10, 11, 12}, {}, 5, 2), (Ids{10, 11}));
  EXPECT_EQ(pair_ids({10, 11}, {20}, 5, 8), (Ids{10, 11, 5, 20}));
  EXPECT_EQ(pair_ids({10, 11, 12, 13, 14}, {20, 21}, 5, 6), (Ids{10, 11, 12, 5, 20, 21}));
  EXPECT_EQ(pair_ids({10}, {20, 21, 22, 23, 24}, 5, 5), (Ids{10, 5, 20, 21, 22}));
  EXPECT_EQ(pair_ids({10, 11, 12, 13}, {20, 21, 22, 23}, 5, 5), (Ids{10, 11, 5, 20, 21}));
}

TEST(PadTogether, IsAsLongAsTheLongestRoundedUpAndNoLongerThanTheModels) {
  const auto text = [](int64_t length) { return at::ones({length}, at::kLong); };
  const TokenBatch batch = pad_together({text(3), text(9)}, 32, 0);
  EXPECT_EQ(batch.ids.sizes(), (std::vector<int64_t>{2, 12}));  // steps of 32 / 8
  EXPECT_TRUE(batch.mask.sum(1).equal(at::tensor({3, 9})));
  EXPECT_TRUE(batch.ids.equal(batch.mask.to(at::kLong)));
  EXPECT_EQ(pad_together({text(30)}, 30, 0).ids.size(1), 30);
}

}  // namespace
}  // namespace perceiver
