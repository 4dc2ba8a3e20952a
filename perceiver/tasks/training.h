// What training needs of a task beside its model: examples, a loss and measures. The trainer puts
// batches of dataset() on the model's device and knows nothing of what is in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/data/dataset.h"
#include "perceiver/tasks/evaluator.h"
#include "perceiver/tasks/figures.h"
#include "perceiver/tasks/measures.h"
#include "perceiver/tasks/split.h"
#include "perceiver/tasks/train_config.h"

namespace perceiver {

class Training {
 public:
  virtual ~Training() = default;

  virtual const TrainConfig& config() const = 0;
  virtual const EvalConfig& eval_config() const = 0;

  // Training examples as they are cropped, augmented and masked, or held-out ones as they are
  // measured; null when there are none of these. Lives no longer than the task.
  virtual std::unique_ptr<Dataset> dataset(Split split) const = 0;

  // A batch as those of dataset(kTrain), of the right sizes and any values, on the CPU.
  virtual Example random_batch(int64_t batch) const = 0;

  // Of a batch of dataset(kTrain), with the model in training mode.
  virtual Loss loss(const Example& batch) = 0;

  // For batches of dataset(kEval), with the model in evaluation mode and gradients off. Lives no
  // longer than the task.
  virtual std::unique_ptr<Evaluator> evaluator() = 0;
  virtual MainMeasure main_measure() const = 0;  // one of the evaluator's figures
  virtual FigureName figure_name(const std::string& key) const { return {key}; }

  // Operations of a step on one example (model/training_flops.h).
  virtual double flops_per_example() const = 0;

  // What belongs in the folder of a trained model beside its weights: names of the classes, and
  // files such as a tokenizer's.
  virtual std::vector<std::string> labels() const { return {}; }

  // The model's classes have names already, in this order: those of the data are matched with them
  // by name. Before dataset() and labels().
  virtual void match_classes(const std::vector<std::string>& /*names*/) {}

  virtual std::vector<File> companions() const { return {}; }
};

// The training of an Experiment (experiment.h).
template <typename Config>
class TrainingOf : public Training {
 public:
  explicit TrainingOf(const Config& config) : experiment_(config) {}

  const TrainConfig& config() const override { return experiment_.train; }
  const EvalConfig& eval_config() const override { return experiment_.eval; }

 protected:
  const Config experiment_;
};

}  // namespace perceiver
