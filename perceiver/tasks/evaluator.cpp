#include "perceiver/tasks/evaluator.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"

namespace perceiver {

std::map<std::string, double> sums_by_weight(const Measures& all) {
  std::map<std::string, double> figures;
  for (const auto& [name, measure] : all) figures[name] = measure.sum / measure.weight;
  return figures;
}

SumEvaluator::SumEvaluator(MeasureBatch measure, Report report)
    : measure_(std::move(measure)), report_(std::move(report)) {}

void SumEvaluator::add(const Example& batch) {
  for (const auto& [name, measure] : measure_(batch)) {
    all_[name].sum += measure.sum;
    all_[name].weight += measure.weight;
  }
}

TensorMap SumEvaluator::state() const {
  TensorMap state;
  for (const auto& [name, measure] : all_) {
    state[name] = at::tensor({measure.sum, measure.weight}, at::kDouble);
  }
  return state;
}

void SumEvaluator::merge(const TensorMap& state) {
  for (const auto& [name, tensor] : state) {
    if (tensor.scalar_type() != at::kDouble || tensor.sizes() != at::IntArrayRef{2}) {
      fail("evaluator's state: '{}' is {} of {}, expected [2] of double: sum and weight", name,
           to_string(tensor.sizes()), at::toString(tensor.scalar_type()));
    }
    all_[name].sum += tensor[0].item<double>();
    all_[name].weight += tensor[1].item<double>();
  }
}

std::map<std::string, double> SumEvaluator::figures() const { return report_(all_); }

PredictionEvaluator::PredictionEvaluator(Predict predict, Report report)
    : predict_(std::move(predict)), report_(std::move(report)) {}

void PredictionEvaluator::add(const Example& batch) { keep(predict_(batch)); }

void PredictionEvaluator::keep(Predictions some) {
  for (Tensor* tensor : {&some.predictions, &some.targets}) {
    // A copy: a view of logits would keep all of them.
    *tensor = tensor->detach().to(at::kCPU, tensor->scalar_type(), /*non_blocking=*/false,
                                  /*copy=*/true);
    if (tensor->dim() == 0) fail("evaluator: a single number, expected a row for each example");
  }
  const auto sizes_of = [](const Predictions& p) {
    return fmt::format("{} and {}", to_string(p.predictions.sizes()), to_string(p.targets.sizes()));
  };
  if (some.predictions.size(0) != some.targets.size(0)) {
    fail("evaluator: predictions and targets are {}, expected as many rows", sizes_of(some));
  }
  if (!predictions_.empty()) {
    const auto same_row = [](const Tensor& a, const Tensor& b) {
      return a.scalar_type() == b.scalar_type() && a.sizes().slice(1) == b.sizes().slice(1);
    };
    if (!same_row(some.predictions, predictions_.front()) ||
        !same_row(some.targets, targets_.front())) {
      fail("evaluator: predictions and targets are {} after {}, expected rows of one kind",
           sizes_of(some), sizes_of({predictions_.front(), targets_.front()}));
    }
  }
  predictions_.push_back(some.predictions);
  targets_.push_back(some.targets);
}

Predictions PredictionEvaluator::joined() const {
  return {at::cat(predictions_), at::cat(targets_)};
}

TensorMap PredictionEvaluator::state() const {
  if (predictions_.empty()) return {};
  const Predictions all = joined();
  return {{"predictions", all.predictions}, {"targets", all.targets}};
}

void PredictionEvaluator::merge(const TensorMap& state) {
  if (state.empty()) return;
  if (state.size() != 2 || !state.contains("predictions") || !state.contains("targets")) {
    fail("evaluator's state: {} tensors, expected 'predictions' and 'targets'", state.size());
  }
  keep({state.at("predictions"), state.at("targets")});
}

std::map<std::string, double> PredictionEvaluator::figures() const {
  if (predictions_.empty()) return {};
  return report_(joined());
}

}  // namespace perceiver
