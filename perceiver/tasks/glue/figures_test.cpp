#include "perceiver/tasks/glue/figures.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace perceiver {
namespace {

struct Row {
  double prediction, task, target, mismatched = 0;
};

Predictions of(const std::vector<Row>& rows) {
  std::vector<double> predictions, targets;
  for (const Row& row : rows) {
    predictions.push_back(row.prediction);
    targets.insert(targets.end(), {row.task, row.target, row.mismatched});
  }
  return {at::tensor(predictions, at::kDouble), at::tensor(targets, at::kDouble).view({-1, 3})};
}

// Worked by hand: CoLA has one right of each class and one wrong, so TP = TN = 1, FP = 1, FN = 0:
// Matthews = (1 * 1 - 1 * 0) / sqrt(2 * 1 * 2 * 1) = 0.5. MNLI has 1 of 2 matched and 1 of 1
// mismatched right: 0.75. STS-B's values lie on a line.
TEST(GlueFigures, AreThePapersAndTheirAverage) {
  const auto figures = glue_figures(of({{1, 0, 1},
                                        {0, 0, 0},
                                        {1, 0, 0},
                                        {0, 1, 0},
                                        {2, 1, 1},
                                        {1, 1, 1, 1},
                                        {1.0, 2, 2.0},
                                        {2.0, 2, 3.0},
                                        {4.0, 2, 5.0}}),
                                    {"cola", "mnli", "stsb"});
  EXPECT_DOUBLE_EQ(figures.at("cola.matthews"), 0.5);
  EXPECT_DOUBLE_EQ(figures.at("mnli.matched"), 0.5);
  EXPECT_DOUBLE_EQ(figures.at("mnli.mismatched"), 1.0);
  EXPECT_DOUBLE_EQ(figures.at("mnli.accuracy"), 0.75);
  EXPECT_NEAR(figures.at("stsb.pearson"), 1.0, 1e-12);
  EXPECT_NEAR(figures.at("stsb.spearman"), 1.0, 1e-12);
  EXPECT_NEAR(figures.at("average"), (0.5 + 0.75 + 1.0) / 3.0, 1e-12);
}

// TP = 2, FP = 1, FN = 1: F1 = 4 / 6, 2 of 4 right.
TEST(GlueFigures, ParaphrasesHaveAccuracyAndF1) {
  const auto figures = glue_figures(of({{1, 0, 1}, {1, 0, 1}, {1, 0, 0}, {0, 0, 1}}), {"mrpc"});
  EXPECT_DOUBLE_EQ(figures.at("mrpc.accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(figures.at("mrpc.f1"), 4.0 / 6.0);
  EXPECT_DOUBLE_EQ(figures.at("average"), 0.5);
}

TEST(GlueFigures, OneAnswerForEverythingHasNoCorrelation) {
  const auto figures =
      glue_figures(of({{1, 0, 1}, {1, 0, 0}, {2.5, 1, 1.0}, {2.5, 1, 4.0}}), {"cola", "stsb"});
  EXPECT_EQ(figures.at("cola.matthews"), 0.0);
  EXPECT_EQ(figures.at("stsb.pearson"), 0.0);
  EXPECT_EQ(figures.at("average"), 0.0);
}

TEST(GlueFigures, ATaskThatWasNotMeasuredLeavesNoAverage) {
  const auto figures = glue_figures(of({{1, 0, 1}}), {"sst2", "rte"});
  EXPECT_EQ(figures.at("sst2.accuracy"), 1.0);
  EXPECT_FALSE(figures.contains("rte.accuracy"));
  EXPECT_TRUE(std::isnan(figures.at("average")));
}

}  // namespace
}  // namespace perceiver
