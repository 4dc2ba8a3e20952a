#include "perceiver/tasks/statistics.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

using Values = std::vector<double>;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

Values values_of(const Tensor& x) {
  const Tensor plain = x.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* data = plain.const_data_ptr<double>();
  return {data, data + plain.numel()};
}

void check_sizes(const Tensor& a, const Tensor& b, int64_t dimensions, std::string_view statistic) {
  if (a.dim() != dimensions || a.sizes() != b.sizes()) {
    fail("{}: got {} and {}, expected two of {}", statistic, to_string(a.sizes()),
         to_string(b.sizes()), dimensions == 1 ? "[examples]" : "[examples, classes]");
  }
  if (a.numel() == 0) fail("{}: no examples", statistic);
}

void check_finite(const Values& values, std::string_view statistic) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      fail("{}: value {} is {}, expected a finite number", statistic, i, values[i]);
    }
  }
}

void check_binary(const Values& labels, std::string_view statistic) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != 0.0 && labels[i] != 1.0) {
      fail("{}: label {} is {}, expected 0 or 1", statistic, i, labels[i]);
    }
  }
}

Values finite_values(const Tensor& x, std::string_view statistic) {
  Values values = values_of(x);
  check_finite(values, statistic);
  return values;
}

template <typename Before>
std::vector<size_t> order(size_t size, const Before& before) {
  std::vector<size_t> indices(size);
  std::iota(indices.begin(), indices.end(), size_t{0});
  std::sort(indices.begin(), indices.end(), before);
  return indices;
}

double average_precision(const Values& scores, const Values& labels) {
  const auto descending =
      order(scores.size(), [&](size_t i, size_t j) { return scores[i] > scores[j]; });
  const double positives = std::accumulate(labels.begin(), labels.end(), 0.0);
  if (positives == 0.0) return kUndefined;
  double area = 0.0, found = 0.0, found_before = 0.0;
  for (size_t k = 0; k < descending.size(); ++k) {
    found += labels[descending[k]];
    const bool last_of_its_score =
        k + 1 == descending.size() || scores[descending[k + 1]] != scores[descending[k]];
    if (!last_of_its_score) continue;
    const double precision = found / static_cast<double>(k + 1);
    area += (found - found_before) / positives * precision;
    found_before = found;
  }
  return area;
}

// From 1; equal values share the mean of their ranks.
Values ranks(const Values& x) {
  const auto ascending = order(x.size(), [&](size_t i, size_t j) { return x[i] < x[j]; });
  Values result(x.size());
  for (size_t begin = 0, end = 0; begin < x.size(); begin = end) {
    while (end < x.size() && x[ascending[end]] == x[ascending[begin]]) ++end;
    const double mean = 0.5 * static_cast<double>(begin + 1 + end);
    for (size_t k = begin; k < end; ++k) result[ascending[k]] = mean;
  }
  return result;
}

bool constant(const Values& x) {
  return std::all_of(x.begin(), x.end(), [&](double value) { return value == x.front(); });
}

// x without its mean, and of length 1.
Values normalised(Values x) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  double largest = 0.0;
  for (double& value : x) largest = std::max(largest, std::abs(value -= mean));
  double squares = 0.0;  // of values up to 1: those of very large ones would overflow
  for (double& value : x) {
    value /= largest;
    squares += value * value;
  }
  for (double& value : x) value /= std::sqrt(squares);
  return x;
}

double pearson(const Values& x, const Values& y) {
  // Asked of the values themselves: 0.1 three times has a mean that is not 0.1.
  if (constant(x) || constant(y)) return kUndefined;
  const Values a = normalised(x), b = normalised(y);
  const double r = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  return std::clamp(r, -1.0, 1.0);
}

}  // namespace

double average_precision(const Tensor& scores, const Tensor& labels) {
  constexpr std::string_view kName = "average precision";
  check_sizes(scores, labels, 1, kName);
  const Values x = finite_values(scores, kName), y = values_of(labels);
  check_binary(y, kName);
  return average_precision(x, y);
}

MeanAveragePrecision mean_average_precision(const Tensor& scores, const Tensor& labels) {
  check_sizes(scores, labels, 2, "mean average precision");
  MeanAveragePrecision result{0.0, 0, 0};
  for (int64_t c = 0; c < scores.size(1); ++c) {
    const double area = average_precision(scores.select(1, c), labels.select(1, c));
    if (std::isnan(area)) {
      ++result.left_out;
    } else {
      result.value += area;
      ++result.classes;
    }
  }
  result.value = result.classes == 0 ? kUndefined : result.value / result.classes;
  return result;
}

double matthews_correlation(const Tensor& predictions, const Tensor& targets) {
  constexpr std::string_view kName = "matthews correlation";
  check_sizes(predictions, targets, 1, kName);
  const Values p = finite_values(predictions, kName), t = finite_values(targets, kName);
  std::map<double, double> predicted, right;  // examples of each class
  double correct = 0.0;
  for (size_t i = 0; i < p.size(); ++i) {
    ++predicted[p[i]];
    ++right[t[i]];
    correct += p[i] == t[i] ? 1.0 : 0.0;
  }
  const auto all = static_cast<double>(p.size());
  // Covariances of the classes' indicators, summed over classes and times all^2.
  double both = correct * all;
  double of_predictions = all * all, of_targets = of_predictions;
  for (const auto& [label, number] : predicted) {
    of_predictions -= number * number;
    const auto found = right.find(label);
    if (found != right.end()) both -= number * found->second;
  }
  for (const auto& [label, number] : right) of_targets -= number * number;
  const double product = of_predictions * of_targets;
  return product == 0.0 ? 0.0 : both / std::sqrt(product);
}

double pearson_correlation(const Tensor& x, const Tensor& y) {
  constexpr std::string_view kName = "pearson correlation";
  check_sizes(x, y, 1, kName);
  return pearson(finite_values(x, kName), finite_values(y, kName));
}

double spearman_correlation(const Tensor& x, const Tensor& y) {
  constexpr std::string_view kName = "spearman correlation";
  check_sizes(x, y, 1, kName);
  return pearson(ranks(finite_values(x, kName)), ranks(finite_values(y, kName)));
}

double binary_f1(const Tensor& predictions, const Tensor& targets) {
  constexpr std::string_view kName = "f1";
  check_sizes(predictions, targets, 1, kName);
  const Values p = values_of(predictions), t = values_of(targets);
  check_binary(p, kName);
  check_binary(t, kName);
  const double both = std::inner_product(p.begin(), p.end(), t.begin(), 0.0);
  const double either = std::accumulate(p.begin(), p.end(), 0.0) +
                        std::accumulate(t.begin(), t.end(), 0.0);  // 2 TP + FP + FN
  return either == 0.0 ? 0.0 : 2.0 * both / either;
}

double macro_f1(const Tensor& predictions, const Tensor& targets) {
  constexpr std::string_view kName = "macro f1";
  check_sizes(predictions, targets, 1, kName);
  const Values p = finite_values(predictions, kName), t = finite_values(targets, kName);
  std::map<double, double> either, both;  // of each class: 2 TP + FP + FN, and TP
  for (size_t i = 0; i < p.size(); ++i) {
    ++either[p[i]];
    ++either[t[i]];
    if (p[i] == t[i]) ++both[p[i]];
  }
  double sum = 0.0;
  for (const auto& [label, number] : either) sum += 2.0 * both[label] / number;
  return sum / static_cast<double>(either.size());
}

}  // namespace perceiver
