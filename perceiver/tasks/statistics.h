// Statistics of a whole set of predictions, in double precision: AudioSet's mean average precision
// (paper, App. C), and the correlations and F1 that GLUE reports (App. F.4).
//
// Inputs are on the CPU, of any dtype. No examples, sizes that differ, and scores that are not
// finite are an Error. A figure that the examples do not define (the correlation of something
// constant) is NaN unless its comment says otherwise.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// The area under the precision-recall curve, as a sum of steps: sum (R_k - R_{k-1}) P_k over the
// distinct scores, the highest first. Equal scores are one step, as in scikit-learn's
// average_precision_score. scores [B], labels [B] of 0 and 1; NaN without a positive label.
double average_precision(const Tensor& scores, const Tensor& labels);

struct MeanAveragePrecision {
  double value;      // the mean over the classes that count; NaN where none does
  int64_t classes;   // with a positive label: these count
  int64_t left_out;  // without one
};

// Of each class by itself: scores [B, classes], labels [B, classes] of 0 and 1.
MeanAveragePrecision mean_average_precision(const Tensor& scores, const Tensor& labels);

// Of two or more classes, given as whole numbers, [B] each (scikit-learn's matthews_corrcoef). 0
// where all predictions, or all targets, are one class.
double matthews_correlation(const Tensor& predictions, const Tensor& targets);

// x [B], y [B]; NaN for one example, or where x or y is constant.
double pearson_correlation(const Tensor& x, const Tensor& y);

// Pearson's of the ranks; equal values share the mean of their ranks.
double spearman_correlation(const Tensor& x, const Tensor& y);

// Of class 1 against class 0: 2 TP / (2 TP + FP + FN), predictions [B], targets [B] of 0 and 1. 0
// where neither holds a 1.
double binary_f1(const Tensor& predictions, const Tensor& targets);

// The mean of every class's own, [B] each of whole numbers, over the classes that are predicted or
// right anywhere (scikit-learn's f1_score, average="macro").
double macro_f1(const Tensor& predictions, const Tensor& targets);

}  // namespace perceiver
