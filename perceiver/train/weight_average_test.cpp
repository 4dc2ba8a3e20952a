#include "perceiver/train/weight_average.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

struct WeightAverageTest : testing::Test {
  void set(double value) {
    at::NoGradGuard no_grad;
    weight.fill_(value);
  }
  double averaged() const { return average.state()[0].second[0].item<double>(); }

  Tensor weight = at::ones({2}).requires_grad_();
  WeightAverage average{{{"mlp.weight", weight}}, 0.5};
};

TEST_F(WeightAverageTest, FollowsTheWeightsFasterAtFirst) {
  EXPECT_EQ(average.state()[0].first, "average.mlp.weight");
  EXPECT_EQ(averaged(), 1.0);
  set(12.0);
  average.update(1);  // 2/11 of it stay
  EXPECT_NEAR(averaged(), 10.0, 1e-5);
  set(2.0);
  average.update(2);  // 3/12
  EXPECT_NEAR(averaged(), 4.0, 1e-5);
  set(8.0);
  average.update(100);  // 101/110 would, and no more than its share does
  EXPECT_NEAR(averaged(), 6.0, 1e-5);
  EXPECT_FALSE(average.state()[0].second.requires_grad());
}

TEST_F(WeightAverageTest, InItsScopeTheWeightsAreTheAverageWhereTheyAreInMemory) {
  set(12.0);
  average.update(1);
  const void* data = weight.data_ptr();
  const auto version = weight._version();
  {
    const WeightAverage::Scope scope(&average);
    EXPECT_NEAR(weight[0].item<double>(), 10.0, 1e-5);
    EXPECT_EQ(weight.data_ptr(), data);
    EXPECT_GT(weight._version(), version) << "what is derived from the weights must notice";
  }
  EXPECT_EQ(weight[0].item<double>(), 12.0);
  EXPECT_EQ(weight.data_ptr(), data);
  EXPECT_NEAR(averaged(), 10.0, 1e-5);
  const WeightAverage::Scope none(nullptr);
  EXPECT_EQ(weight[0].item<double>(), 12.0);
}

}  // namespace
}  // namespace perceiver
