#include "perceiver/nn/batch_parts.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

// What comes after a batch norm, so that it depends on every value in its own way.
Tensor loss_of(const Tensor& y, const Tensor& factors) { return (y.square() * factors).sum(); }

// In float64, where the two ways of adding up hardly differ.
TEST(BatchParts, StatisticsAndGradientsAreThoseOfTheWholeBatch) {
  at::manual_seed(0);
  BatchNorm norm(3);
  norm->to(at::kDouble);
  const Tensor weight = at::randn({3, 2}, at::kDouble).set_requires_grad(true);
  const Tensor x = at::randn({7, 2, 4, 5}, at::kDouble) + 3.0;
  const Tensor factors = at::randn({7, 3, 4, 5}, at::kDouble);
  const auto before = [&](const Tensor& part) {
    return at::einsum("oc,bchw->bohw", {weight, part});
  };
  const Tensor whole_loss = loss_of(norm(before(x)), factors);
  whole_loss.backward();
  const Tensor whole = weight.grad().clone(), scale = norm->weight.grad().clone();
  const Tensor running_mean = norm->running_mean.clone(), running_var = norm->running_var.clone();

  BatchNorm other(3);
  other->to(at::kDouble);
  BatchParts parts(*other);
  set_parts(*other, parts);
  weight.mutable_grad() = Tensor();
  const std::vector<std::pair<int64_t, int64_t>> bounds = {{0, 4}, {4, 5}, {5, 7}};
  const auto each = [&](const auto& work) {
    for (const auto& [begin, end] : bounds)
      work(x.slice(0, begin, end), factors.slice(0, begin, end));
  };
  const auto until_norm = [&](const Tensor& part, const Tensor&) {
    EXPECT_THROW(other(before(part)), BatchNormReached);
  };
  parts->begin_count();
  each(until_norm);
  parts->end_count(*other);
  double loss = 0.0;
  each([&](const Tensor& part, const Tensor& f) {
    const Tensor one = loss_of(other(before(part)), f);
    one.backward();
    loss += one.item<double>();
  });
  parts->begin_send_back(parts->mean().grad(), parts->variance().grad());
  each(until_norm);
  parts->end_send_back();

  EXPECT_NEAR(loss, whole_loss.item<double>(), 1e-9 * std::abs(loss));
  EXPECT_TRUE(at::allclose(weight.grad(), whole, 1e-9, 1e-9));
  EXPECT_TRUE(at::allclose(other->weight.grad(), scale, 1e-9, 1e-9));
  EXPECT_TRUE(at::allclose(other->running_mean, running_mean, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(other->running_var, running_var, 1e-12, 1e-12));

  unset_parts(*other);
  EXPECT_EQ(parts_of(*other), nullptr);
  EXPECT_TRUE(at::allclose(other(before(x)), norm(before(x)), 1e-9, 1e-9));
}

}  // namespace
}  // namespace perceiver
