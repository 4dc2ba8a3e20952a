#include "perceiver/nn/narrow_weights.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(NarrowWeights, AreStackedWithZerosBehind) {
  const Tensor a = at::ones({2, 3}), b = at::full({1, 3}, 2.0);
  const Tensor all = stacked_weights({a, b}, at::kBFloat16, 4, 5);
  const Tensor expected = at::tensor({1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0,
                                      2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0})
                              .view({4, 5});
  EXPECT_EQ(all.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(all.to(at::kDouble).equal(expected.to(at::kDouble)));
}

// Once with rows that lie as the weights' do, once with padding between them.
TEST(NarrowWeights, ArePutInTheSamePlaceWhereNotCurrent) {
  for (const int64_t in : {3, 8}) {
    NarrowWeights narrow;
    const Tensor weight = at::ones({2, 3}).requires_grad_();
    const auto at_scope = [&] {
      const NarrowWeights::Scope scope(narrow);
      return stacked_weights({weight}, at::kBFloat16, 2, in);
    };
    const Tensor first = at_scope();
    EXPECT_EQ(first.sum().item<double>(), 6.0);
    {
      at::NoGradGuard no_grad;
      weight.fill_(3.0);
    }
    narrow.refresh();
    EXPECT_EQ(first.sum().item<double>(), 6.0);  // until somebody says that it is not current
    for (WeightCopy& c : narrow.copies()) c.current = false;
    narrow.refresh();
    const Tensor second = at_scope();
    EXPECT_EQ(second.const_data_ptr(), first.const_data_ptr());
    EXPECT_EQ(second.sum().item<double>(), 18.0);
    EXPECT_NE(stacked_weights({weight}, at::kBFloat16, 2, in).const_data_ptr(),
              first.const_data_ptr());
  }
}

}  // namespace
}  // namespace perceiver
