#include "perceiver/tasks/arrays/loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace perceiver {
namespace {

QueryLayout layout_with(int64_t values) {
  QueryLayout layout;
  layout.values = values;
  return layout;
}

std::map<std::string, double> figures_of(const Answered& a, const ArrayQuery& query,
                                         const QueryLayout& layout) {
  Measures measures;
  measure_query(a, query, layout, "", measures);
  return array_figures(measures);
}

TEST(ArrayLoss, CrossEntropyIsLibTorchsOverKnownClasses) {
  const Tensor logits = at::randn({2, 3, 5});
  const Tensor target = at::tensor({1, 4, -1, 0, -1, -1}, at::kLong).reshape({2, 3, 1});
  const ArrayQuery query = {.loss = ArrayLoss::kCrossEntropy, .classes = 5};
  for (const double smoothing : {0.0, 0.1}) {
    const Tensor losses = query_losses({logits, target, {}}, query, smoothing);
    const auto expected = [&](int64_t row, int64_t count) {
      return at::cross_entropy_loss(logits[row].narrow(0, 0, count),
                                    target[row].narrow(0, 0, count).flatten(), {},
                                    at::Reduction::Mean, -100, smoothing)
          .item<float>();
    };
    EXPECT_NEAR(losses[0].item<float>(), expected(0, 2), 1e-6);
    EXPECT_NEAR(losses[1].item<float>(), expected(1, 1), 1e-6);
  }
}

TEST(ArrayLoss, MissingAnswersCountNowhereAndHaveNoGradient) {
  for (const ArrayLoss loss :
       {ArrayLoss::kMse, ArrayLoss::kL1, ArrayLoss::kHuber, ArrayLoss::kBinary,
        ArrayLoss::kEndPoint, ArrayLoss::kGaussian, ArrayLoss::kQuantile}) {
    const ArrayQuery query = {.loss = loss, .quantiles = {0.2, 0.8}};
    const bool twice = loss == ArrayLoss::kGaussian || loss == ArrayLoss::kQuantile;
    const Tensor outputs = at::randn({1, 3, twice ? 4 : 2}).requires_grad_();
    Tensor target = at::rand({1, 3, 2});
    target[0][1] = NAN;
    const Tensor some = at::tensor({0, 2}, at::kLong);
    const Tensor all = query_losses({outputs, target, {}}, query, 0.0);
    const Tensor known =
        query_losses({outputs.index_select(1, some), target.index_select(1, some), {}}, query, 0.0);
    EXPECT_TRUE(all.allclose(known)) << to_word(loss);
    all.sum().backward();
    EXPECT_EQ(outputs.grad()[0][1].abs().sum().item<float>(), 0.0f) << to_word(loss);
    EXPECT_FALSE(outputs.grad().isnan().any().item<bool>()) << to_word(loss);
  }
}

TEST(ArrayLoss, OfNothingKnownIsZero) {
  const Tensor target = at::full({2, 1, 1}, NAN), asked = at::zeros({2, 1}, at::kBool);
  EXPECT_EQ(query_losses({at::randn({2, 1, 1}), target, {}}, {}, 0.0).sum().item<float>(), 0.0f);
  EXPECT_EQ(
      query_losses({at::randn({2, 1, 1}), at::ones({2, 1, 1}), asked}, {}, 0.0).sum().item<float>(),
      0.0f);
}

// The best constant under the pinball loss is the quantile itself.
TEST(ArrayLoss, QuantilesAreWhereTheLossIsLowest) {
  const ArrayQuery query = {.loss = ArrayLoss::kQuantile, .quantiles = {0.25}};
  const Tensor target = at::arange(1, 101, at::kFloat).reshape({1, 100, 1});
  double lowest = INFINITY, at_value = 0.0;
  for (double guess = 0.5; guess < 101.0; guess += 1.0) {
    const double loss =
        query_losses({at::full({1, 100, 1}, guess), target, {}}, query, 0.0).item<float>();
    if (loss < lowest) lowest = loss, at_value = guess;
  }
  EXPECT_NEAR(at_value, 25.5, 1.0);
}

// -log of the normal density at two deviations from the mean, of deviation 3.
TEST(ArrayLoss, AGaussianIsItsNegativeLogDensity) {
  const ArrayQuery query = {.loss = ArrayLoss::kGaussian};
  const Tensor outputs = at::tensor({1.0, std::log(9.0)}).to(at::kFloat).reshape({1, 1, 2});
  const Tensor target = at::full({1, 1, 1}, 7.0);
  const double expected = 2.0 + std::log(3.0 * std::sqrt(2.0 * M_PI));
  EXPECT_NEAR(query_losses({outputs, target, {}}, query, 0.0).item<float>(), expected, 1e-5);
}

TEST(ArrayMeasures, AreInTheUsersUnits) {
  const ArrayQuery query = {.measure = {"mae", "rmse", "r2"}, .mean = {100.0}, .scale = {10.0}};
  // 90, 100, 110, 120 guessed as 90, 100, 110, 100.
  const Tensor target = at::tensor({-1.0, 0.0, 1.0, 2.0}).to(at::kFloat).reshape({4, 1, 1});
  const Tensor outputs = at::tensor({-1.0, 0.0, 1.0, 0.0}).to(at::kFloat).reshape({4, 1, 1});
  const auto figures = figures_of({outputs, target, {}}, query, layout_with(1));
  EXPECT_NEAR(figures.at("mae"), 5.0, 1e-5);
  EXPECT_NEAR(figures.at("rmse"), 10.0, 1e-5);
  EXPECT_NEAR(figures.at("r2"), 1.0 - 400.0 / 500.0, 1e-5);  // squares about the mean of 105: 500
}

TEST(ArrayMeasures, AccuracyAndMacroF1AreScikitLearns) {
  const ArrayQuery query = {
      .loss = ArrayLoss::kCrossEntropy, .measure = {"accuracy", "f1"}, .classes = 3};
  const Tensor guess = at::tensor({0, 0, 1, 1, 2, 2}, at::kLong);
  const Tensor truth = at::tensor({0, 1, 1, 1, 2, -1}, at::kLong).reshape({6, 1, 1});
  const Tensor outputs = at::one_hot(guess, 3).to(at::kFloat).unsqueeze(1);
  const auto figures = figures_of({outputs, truth, {}}, query, layout_with(1));
  EXPECT_NEAR(figures.at("accuracy"), 0.8, 1e-9);
  // Of class 0: 2/3; of class 1: 4/5; of class 2: 1.
  EXPECT_NEAR(figures.at("f1"), (2.0 / 3 + 4.0 / 5 + 1.0) / 3, 1e-9);
}

TEST(ArrayMeasures, CoverageIsTheShareOfAnswersInTheMiddle) {
  const ArrayQuery query = {
      .loss = ArrayLoss::kGaussian, .measure = {"coverage"}, .mean = {5.0}, .scale = {2.0}};
  const Tensor outputs = at::zeros({1, 20'000, 2});
  const Tensor target = at::randn({1, 20'000, 1});
  // Of 20,000 draws the share within 1.96 deviations is 95 % give or take 0.15 %.
  EXPECT_NEAR(figures_of({outputs, target, {}}, query, layout_with(1)).at("coverage"), 0.95, 0.01);
}

TEST(ArrayMeasures, EndPointIsTheMeanDistance) {
  const ArrayQuery query = {.loss = ArrayLoss::kEndPoint, .measure = {"end_point"}};
  const Tensor outputs = at::zeros({1, 2, 2});
  const Tensor target = at::tensor({3.0, 4.0, 6.0, 8.0}).to(at::kFloat).reshape({1, 2, 2});
  const Answered answered{outputs, target, {}};
  EXPECT_NEAR(figures_of(answered, query, layout_with(2)).at("end_point"), 7.5, 1e-6);
  EXPECT_NEAR(query_losses(answered, query, 0.0).item<float>(), 7.5, 1e-5);
}

TEST(UserOutputs, AreProbabilitiesOrNumbersInTheirUnits) {
  const Tensor logits = at::randn({2, 3, 4});
  const ArrayQuery classes = {.loss = ArrayLoss::kCrossEntropy, .classes = 4};
  EXPECT_TRUE(
      user_outputs(logits, classes, layout_with(1)).values.sum(-1).allclose(at::ones({2, 3})));
  const ArrayQuery query = {.loss = ArrayLoss::kGaussian, .mean = {1.0}, .scale = {2.0}};
  const Tensor outputs = at::tensor({3.0, 0.0}).to(at::kFloat).reshape({1, 1, 2});
  const UserOutputs user = user_outputs(outputs, query, layout_with(1));
  EXPECT_NEAR(user.values.item<float>(), 7.0, 1e-6);
  EXPECT_NEAR(user.deviation.item<float>(), 2.0, 1e-6);
}

}  // namespace
}  // namespace perceiver
