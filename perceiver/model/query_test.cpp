#include "perceiver/model/query.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(LearnedQuery, SomeOfThemAreRowsOfAll) {
  at::NoGradGuard no_grad;
  LearnedQuery query(7, 4);
  const Tensor all = query(2).materialise();
  const Tensor some = query(2, at::tensor({6, 1})).materialise();
  EXPECT_EQ(all.sizes(), (std::vector<int64_t>{2, 7, 4}));
  EXPECT_TRUE(some[1][0].equal(all[0][6]));
  const Tensor each = query(2, at::tensor({6, 1, 0, 2}).view({2, 2})).materialise();
  EXPECT_TRUE(each[1][0].equal(all[0][0]));
}

TEST(PositionQuery, SubsetEqualsRowsOfAll) {
  const PositionQuery query{.grid = {4, 6, 6}, .resolution = {4, 6, 6}, .num_bands = 8};
  const Tensor indices = at::tensor({0, 100, 143});
  const Tensor all = query.all(2), some = query.at(2, indices, Spacing::kInclusive);
  EXPECT_EQ(all.size(2), query.channels());
  EXPECT_TRUE(some.equal(all.index_select(1, indices)));
}

TEST(PositionQuery, EachExampleMayAskForPointsOfItsOwn) {
  const PositionQuery query{.grid = {4, 6, 6}, .resolution = {4, 6, 6}, .num_bands = 8};
  const Tensor first = at::tensor({0, 100, 143}), second = at::tensor({7, 7, 1});
  for (const Spacing spacing : {Spacing::kInclusive, Spacing::kSubsampled}) {
    const Tensor each = query.at(2, at::stack({first, second}), spacing);
    EXPECT_TRUE(each[0].equal(query.at(1, first, spacing)[0]));
    EXPECT_TRUE(each[1].equal(query.at(1, second, spacing)[0]));
  }
}

TEST(PositionQuery, SubsampledSpacingIsTheReleasedOne) {
  const PositionQuery query{.grid = {16}, .resolution = {16}, .num_bands = 2};
  const Tensor q = query.at(1, at::tensor({15}), Spacing::kSubsampled);
  EXPECT_FLOAT_EQ(q[0][0][0].item<float>(), -1.0f + 2.0f * 15 / 16);
}

}  // namespace
}  // namespace perceiver
