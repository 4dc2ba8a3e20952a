#include "perceiver/tasks/evaluator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>

#include "perceiver/core/error_test.h"
#include "perceiver/tasks/statistics.h"

namespace perceiver {
namespace {

// Adding in another order rounds otherwise.
constexpr double kRounding = 1e-12;

using Figures = std::map<std::string, double>;

std::unique_ptr<Evaluator> sums() {
  return std::make_unique<SumEvaluator>([](const Example& batch) {
    const Tensor right = batch.at("scores").argmax(1) == batch.at("labels").argmax(1);
    const Tensor error = (batch.at("scores") - batch.at("labels")).abs();
    return Measures{{"accuracy", {right.sum().item<double>(), static_cast<double>(right.numel())}},
                    {"error", {error.sum().item<double>(), static_cast<double>(error.numel())}}};
  });
}

std::unique_ptr<Evaluator> statistics() {
  return std::make_unique<PredictionEvaluator>(
      [](const Example& batch) {
        return Predictions{batch.at("scores"), batch.at("labels")};
      },
      [](const Predictions& all) {
        return Figures{
            {"mAP", mean_average_precision(all.predictions, all.targets).value},
            {"spearman", spearman_correlation(all.predictions.sum(1), all.targets.sum(1))}};
      });
}

// Batches of different sizes; scores of few values, so that many are equal across batches.
std::vector<Example> batches() {
  at::manual_seed(3);
  std::vector<Example> result;
  for (const int64_t rows : {5, 1, 7, 4}) {
    result.push_back({{"scores", at::randint(0, 6, {rows, 3}).to(at::kFloat)},
                      {"labels", at::randint(0, 2, {rows, 3}).to(at::kFloat)}});
  }
  return result;
}

void expect_same(const Figures& a, const Figures& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) EXPECT_NEAR(value, b.at(name), kRounding) << name;
}

class EvaluatorTest : public testing::TestWithParam<std::unique_ptr<Evaluator> (*)()> {};

TEST_P(EvaluatorTest, MergedStatesGiveTheFiguresOfOneEvaluator) {
  const std::vector<Example> all = batches();
  const auto whole = GetParam()(), one = GetParam()(), other = GetParam()();
  for (size_t i = 0; i < all.size(); ++i) {
    whole->add(all[i]);
    (i % 2 == 0 ? one : other)->add(all[i]);
  }
  const auto forth = GetParam()(), back = GetParam()();
  forth->merge(one->state());
  forth->merge(other->state());
  back->merge(other->state());
  back->merge(one->state());
  one->merge(other->state());
  expect_same(one->figures(), whole->figures());
  expect_same(forth->figures(), whole->figures());
  expect_same(back->figures(), whole->figures());
}

TEST_P(EvaluatorTest, MergingIsAssociative) {
  const std::vector<Example> all = batches();
  std::vector<std::unique_ptr<Evaluator>> parts;
  for (size_t i = 0; i < 3; ++i) {
    parts.push_back(GetParam()());
    parts.back()->add(all[i]);
  }
  const auto left = GetParam()(), right = GetParam()();
  for (const auto& part : parts) left->merge(part->state());
  parts[1]->merge(parts[2]->state());
  right->merge(parts[0]->state());
  right->merge(parts[1]->state());
  expect_same(left->figures(), right->figures());
}

TEST_P(EvaluatorTest, AProcessWithoutABatchAddsNothing) {
  const auto busy = GetParam()(), idle = GetParam()();
  busy->add(batches()[0]);
  const Figures before = busy->figures();
  EXPECT_TRUE(idle->state().empty());
  EXPECT_TRUE(idle->figures().empty());
  busy->merge(idle->state());
  expect_same(busy->figures(), before);
}

INSTANTIATE_TEST_SUITE_P(Both, EvaluatorTest, testing::Values(sums, statistics),
                         [](const auto& info) { return info.index == 0 ? "Sums" : "Statistics"; });

TEST(SumEvaluator, WeighsUnevenBatchesByTheirWeights) {
  SumEvaluator evaluator([](const Example& batch) {
    const double rows = static_cast<double>(batch.at("x").numel());
    return Measures{{"mean", {batch.at("x").sum().item<double>(), rows}}};
  });
  evaluator.add({{"x", at::full({1}, 8.0)}});
  evaluator.add({{"x", at::full({3}, 4.0)}});
  EXPECT_EQ(evaluator.figures().at("mean"), 5.0);
  const Tensor state = evaluator.state().at("mean");
  EXPECT_EQ(state.scalar_type(), at::kDouble);
  EXPECT_TRUE(state.equal(at::tensor({20.0, 4.0}, at::kDouble)));
}

TEST(SumEvaluator, ReportsWhatItIsToldTo) {
  SumEvaluator evaluator(
      [](const Example&) {
        return Measures{{"nats", {3.0, 2.0}}};
      },
      [](const Measures& all) {
        return Figures{{"twice", 2 * all.at("nats").sum}};
      });
  evaluator.add({});
  EXPECT_EQ(evaluator.figures(), (Figures{{"twice", 6.0}}));
}

TEST(PredictionEvaluator, KeepsRowsAndNotWhatTheyAreAViewOf) {
  PredictionEvaluator evaluator(
      [](const Example& batch) {
        return Predictions{batch.at("x").slice(1, 0, 1), batch.at("x").slice(1, 1, 2)};
      },
      [](const Predictions&) { return Figures{}; });
  const Tensor x = at::arange(6.0).view({3, 2});
  evaluator.add({{"x", x}});
  x.zero_();
  EXPECT_TRUE(evaluator.state().at("predictions").equal(at::tensor({0.0, 2.0, 4.0}).view({3, 1})));
  EXPECT_TRUE(evaluator.state().at("targets").equal(at::tensor({1.0, 3.0, 5.0}).view({3, 1})));
}

TEST(Evaluators, MistakesAreOneLine) {
  const auto of_sums = sums(), of_rows = statistics();
  EXPECT_EQ(
      error_of([&] {
        of_sums->merge({{"accuracy", at::zeros({3})}});
      }),
      "evaluator's state: 'accuracy' is [3] of Float, expected [2] of double: sum and weight");
  EXPECT_EQ(error_of([&] {
              of_rows->merge({{"predictions", at::zeros({3})}});
            }),
            "evaluator's state: 1 tensors, expected 'predictions' and 'targets'");
  const auto row = [](int64_t predictions, int64_t targets, int64_t channels) {
    return TensorMap{{"predictions", at::zeros({predictions, channels})},
                     {"targets", at::zeros({targets, 3})}};
  };
  EXPECT_EQ(error_of([&] { of_rows->merge(row(2, 3, 3)); }),
            "evaluator: predictions and targets are [2, 3] and [3, 3], expected as many rows");
  of_rows->merge(row(2, 2, 3));
  EXPECT_EQ(error_of([&] { of_rows->merge(row(1, 1, 4)); }),
            "evaluator: predictions and targets are [1, 4] and [1, 3] after [2, 3] and [2, 3], "
            "expected rows of one kind");
  EXPECT_EQ(error_of([&] {
              of_rows->merge({{"predictions", at::zeros({})}, {"targets", at::zeros({})}});
            }),
            "evaluator: a single number, expected a row for each example");
}

}  // namespace
}  // namespace perceiver
