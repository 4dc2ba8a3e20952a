#include "perceiver/tasks/statistics.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

// Every value is worked out by hand; double precision rounds a few operations.
constexpr double kRounding = 1e-15;

Tensor values(std::initializer_list<double> x) { return at::tensor(x, at::kDouble); }

TEST(Statistics, AveragePrecisionIsTheAreaInSteps) {
  // Positives are first and third: 1/2 * 1/1 + 1/2 * 2/3.
  EXPECT_NEAR(average_precision(values({0.9, 0.8, 0.7, 0.6}), values({1, 0, 1, 0})), 5.0 / 6,
              kRounding);
  EXPECT_NEAR(average_precision(values({0.1, 0.4, 0.35, 0.8}), values({0, 0, 1, 1})), 5.0 / 6,
              kRounding);  // scikit-learn's own example
  EXPECT_EQ(average_precision(values({-3, 5, 2}), values({0, 1, 1})), 1.0);
  EXPECT_EQ(average_precision(values({0.2}), values({1})), 1.0);
}

TEST(Statistics, EqualScoresAreOneStepInAnyOrder) {
  for (const auto& labels : {values({0, 1, 0}), values({0, 0, 1})}) {
    EXPECT_NEAR(average_precision(values({0.9, 0.5, 0.5}), labels), 1.0 / 3, kRounding);
  }
  // All alike: the share of positives.
  EXPECT_EQ(average_precision(at::full({8}, 0.5), values({1, 0, 0, 0, 0, 0, 0, 1})), 0.25);
}

TEST(Statistics, MeanAveragePrecisionLeavesOutClassesWithoutAPositive) {
  const Tensor scores = at::tensor({0.9, 0.1, 0.4, 0.8, 0.2, 0.3, 0.7, 0.3, 0.2, 0.6, 0.4, 0.1});
  const Tensor labels = at::tensor({1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0});
  const MeanAveragePrecision result =
      mean_average_precision(scores.view({4, 3}), labels.view({4, 3}));
  // The first class has 5/6. The third's positive is third of four: 1/3.
  EXPECT_NEAR(result.value, (5.0 / 6 + 1.0 / 3) / 2, kRounding);
  EXPECT_EQ(result.classes, 2);
  EXPECT_EQ(result.left_out, 1);
}

TEST(Statistics, AveragePrecisionWithoutAPositiveIsUndefined) {
  EXPECT_TRUE(std::isnan(average_precision(values({0.1, 0.2}), values({0, 0}))));
  const MeanAveragePrecision none = mean_average_precision(at::rand({3, 2}), at::zeros({3, 2}));
  EXPECT_TRUE(std::isnan(none.value));
  EXPECT_EQ(none.classes, 0);
  EXPECT_EQ(none.left_out, 2);
}

TEST(Statistics, MatthewsOfTwoClassesIsTheFormulaOfTheFourCounts) {
  // 6 true positives, 3 true negatives, 1 false positive, 2 false negatives.
  const Tensor targets = at::tensor({1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0});
  const Tensor predictions = at::tensor({1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1});
  EXPECT_NEAR(matthews_correlation(predictions, targets),
              (6 * 3 - 1 * 2) / std::sqrt(7 * 4 * 8 * 5), kRounding);
  EXPECT_EQ(matthews_correlation(targets, targets), 1.0);
  EXPECT_EQ(matthews_correlation(1 - targets, targets), -1.0);
}

TEST(Statistics, MatthewsOfThreeClassesIsTheGeneralFormula) {
  // 3 of 5 right; of each class 2, 1, 2 targets and as many predictions:
  // (3 * 5 - 9) / (25 - 9).
  EXPECT_NEAR(matthews_correlation(at::tensor({0, 2, 1, 2, 0}), at::tensor({0, 1, 2, 2, 0})), 0.375,
              kRounding);
}

TEST(Statistics, MatthewsOfOneClassIsZero) {
  EXPECT_EQ(matthews_correlation(at::ones({4}), at::tensor({0, 1, 1, 0})), 0.0);
  EXPECT_EQ(matthews_correlation(at::tensor({0, 1, 1, 0}), at::ones({4})), 0.0);
  EXPECT_EQ(matthews_correlation(at::tensor({1}), at::tensor({1})), 0.0);
}

TEST(Statistics, PearsonIsTheCovarianceOverTheSpreads) {
  const Tensor x = values({1, 2, 3, 4, 5}), y = values({2, 1, 4, 3, 5});
  EXPECT_NEAR(pearson_correlation(x, y), 0.8, kRounding);  // 8 / sqrt(10 * 10)
  EXPECT_NEAR(pearson_correlation(x, 100 - 7 * y), -0.8, kRounding);
  EXPECT_NEAR(pearson_correlation(1e200 * x, 1e-200 * y), 0.8, kRounding);
  EXPECT_NEAR(pearson_correlation(values({3, 7}), values({-1, 5})), 1.0, kRounding);
}

TEST(Statistics, SpearmanIsPearsonOfRanksAndEqualValuesShareThem) {
  const Tensor x = values({1, 2, 3, 4, 5}), y = values({2, 1, 4, 3, 5});
  EXPECT_NEAR(spearman_correlation(x.exp(), y * y * y), 0.8, kRounding);
  // Ranks 1, 2.5, 2.5, 4: 4.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(spearman_correlation(values({10, 20, 20, 30}), values({1, 2, 3, 4})),
              4.5 / std::sqrt(22.5), kRounding);
}

TEST(Statistics, CorrelationsOfAConstantOrOfOneExampleAreUndefined) {
  for (const auto& correlation : {pearson_correlation, spearman_correlation}) {
    // A mean of 0.1 thrice is not 0.1: what is left must not count as spread.
    EXPECT_TRUE(std::isnan(correlation(values({0.1, 0.1, 0.1}), values({1, 2, 3}))));
    EXPECT_TRUE(std::isnan(correlation(values({1, 2, 3}), values({5, 5, 5}))));
    EXPECT_TRUE(std::isnan(correlation(values({1}), values({2}))));
  }
}

TEST(Statistics, F1CountsThePositiveClass) {
  // 2 true positives, 1 false positive, 1 false negative.
  EXPECT_NEAR(binary_f1(at::tensor({1, 1, 1, 0, 0, 0}), at::tensor({1, 1, 0, 1, 0, 0})), 2.0 / 3,
              kRounding);
  EXPECT_EQ(binary_f1(at::zeros({3}), at::ones({3})), 0.0);
  EXPECT_EQ(binary_f1(at::zeros({3}), at::zeros({3})), 0.0);
  EXPECT_EQ(binary_f1(at::tensor({1}), at::tensor({1})), 1.0);
}

TEST(Statistics, MacroF1IsTheMeanOfTheClassesThatOccur) {
  // F1 of 0: 1/2, of 1: 2/3, of 2: 0; class 3 occurs nowhere.
  EXPECT_NEAR(macro_f1(at::tensor({0, 1, 2, 0}), at::tensor({0, 1, 0, 1})), (0.5 + 2.0 / 3) / 3,
              kRounding);
  EXPECT_EQ(macro_f1(at::tensor({4, 4}), at::tensor({4, 4})), 1.0);
  EXPECT_EQ(macro_f1(at::tensor({0, 0}), at::tensor({1, 1})), 0.0);
}

TEST(Statistics, DtypesAndStridesDoNotMatter) {
  const Tensor scores = at::tensor({0.9, 0.5, 0.5, 0.1}).to(at::kBFloat16);
  const Tensor labels = at::tensor({0, 1, 0, 1}).to(at::kBool);
  // 1/2 * 1/3 + 1/2 * 2/4
  EXPECT_NEAR(average_precision(scores, labels), 5.0 / 12, kRounding);
  const Tensor both = at::stack({scores, scores}, 1);
  EXPECT_NEAR(average_precision(both.select(1, 0), labels), 5.0 / 12, kRounding);
}

TEST(Statistics, MistakesAreOneLine) {
  const Tensor two = values({0, 1}), three = values({0, 1, 1});
  EXPECT_EQ(error_of([&] { pearson_correlation(two, three); }),
            "pearson correlation: got [2] and [3], expected two of [examples]");
  EXPECT_EQ(error_of([&] { mean_average_precision(two, two); }),
            "mean average precision: got [2] and [2], expected two of [examples, classes]");
  EXPECT_EQ(error_of([&] { matthews_correlation(at::empty({0}), at::empty({0})); }),
            "matthews correlation: no examples");
  EXPECT_EQ(error_of([&] {
              average_precision(values({0.5, NAN}), two);
            }),
            "average precision: value 1 is nan, expected a finite number");
  EXPECT_EQ(error_of([&] {
              mean_average_precision(values({0.5, NAN}).view({2, 1}), two.view({2, 1}));
            }),
            "average precision: value 1 is nan, expected a finite number");
  EXPECT_EQ(error_of([&] {
              spearman_correlation(two, values({INFINITY, 1}));
            }),
            "spearman correlation: value 0 is inf, expected a finite number");
  EXPECT_EQ(error_of([&] {
              average_precision(two, values({0, 0.5}));
            }),
            "average precision: label 1 is 0.5, expected 0 or 1");
  EXPECT_EQ(error_of([&] { binary_f1(values({0, 2}), two); }), "f1: label 1 is 2, expected 0 or 1");
}

}  // namespace
}  // namespace perceiver
