// statistics_peer FILE: the statistics of a safetensors file's tensors, as one JSON object, for
// tests/peers/scores.py to compare. Tensors: "scores" and "labels" [examples, classes],
// "predictions" and "targets" [examples] of classes, "x" and "y" [examples].
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "perceiver/core/error.h"
#include "perceiver/tasks/statistics.h"
#include "perceiver/weights/safetensors.h"

using namespace perceiver;

static nlohmann::json statistics_of(const TensorMap& tensors) {
  nlohmann::json figures;
  const auto pair = [&](const char* a, const char* b, const auto& use) {
    if (tensors.contains(a) && tensors.contains(b)) use(tensors.at(a), tensors.at(b));
  };
  pair("scores", "labels", [&](const Tensor& scores, const Tensor& labels) {
    const MeanAveragePrecision result = mean_average_precision(scores, labels);
    figures["mean_average_precision"] = result.value;
    figures["classes"] = result.classes;
  });
  pair("predictions", "targets", [&](const Tensor& predictions, const Tensor& targets) {
    figures["matthews"] = matthews_correlation(predictions, targets);
    figures["macro_f1"] = macro_f1(predictions, targets);
    if (targets.max().item<double>() <= 1 && predictions.max().item<double>() <= 1) {
      figures["f1"] = binary_f1(predictions, targets);
    }
  });
  pair("x", "y", [&](const Tensor& x, const Tensor& y) {
    figures["pearson"] = pearson_correlation(x, y);
    figures["spearman"] = spearman_correlation(x, y);
  });
  return figures;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "statistics_peer FILE\n");
    return 1;
  }
  try {
    fmt::print("{}\n", statistics_of(read_safetensors(argv[1]).tensors).dump());
  } catch (const Error& error) {
    fmt::print(stderr, "statistics_peer: {}\n", error.what());
    return 1;
  }
}
