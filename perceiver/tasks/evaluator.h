// What a task measures of its model on held-out examples, over as many batches and processes as
// there are.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "perceiver/data/dataset.h"
#include "perceiver/tasks/measures.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// What is measured on held-out examples: batches are added one by one, states of several processes
// are merged, figures come at the end.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Of Training::dataset(kEval), on the model's device.
  virtual void add(const Example& batch) = 0;
  virtual TensorMap state() const = 0;             // all that was added, as tensors on the CPU
  virtual void merge(const TensorMap& state) = 0;  // another process's state()
  virtual std::map<std::string, double> figures() const = 0;
};

// sum / weight of each measure.
std::map<std::string, double> sums_by_weight(const Measures& all);

// Adds up what is measured of each batch: accuracies, errors, bits.
class SumEvaluator : public Evaluator {
 public:
  using MeasureBatch = std::function<Measures(const Example& batch)>;
  using Report = std::function<std::map<std::string, double>(const Measures& all)>;
  explicit SumEvaluator(MeasureBatch measure, Report report = sums_by_weight);

  void add(const Example& batch) override;
  TensorMap state() const override;  // double [2] of each name: sum and weight
  void merge(const TensorMap& state) override;
  std::map<std::string, double> figures() const override;

 private:
  MeasureBatch measure_;
  Report report_;
  Measures all_;
};

// A model's answers and the right ones, a row for each example: predictions [B, ...], targets
// [B, ...].
struct Predictions {
  Tensor predictions, targets;
};

// Keeps every example's answer: for figures that are no sums over examples (statistics.h).
class PredictionEvaluator : public Evaluator {
 public:
  using Predict = std::function<Predictions(const Example& batch)>;
  using Report = std::function<std::map<std::string, double>(const Predictions& all)>;
  PredictionEvaluator(Predict predict, Report report);

  void add(const Example& batch) override;
  TensorMap state() const override;  // "predictions" and "targets"; empty before the first batch
  void merge(const TensorMap& state) override;
  std::map<std::string, double> figures() const override;  // none without examples

 private:
  void keep(Predictions some);
  Predictions joined() const;

  Predict predict_;
  Report report_;
  std::vector<Tensor> predictions_, targets_;  // on the CPU
};

}  // namespace perceiver
