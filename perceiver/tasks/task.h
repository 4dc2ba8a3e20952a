// The class through which the command line, the trainer and the server know an experiment of the
// paper.
#pragma once

#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/data/dataset.h"
#include "perceiver/model/summary.h"
#include "perceiver/tasks/measures.h"
#include "perceiver/tasks/train_config.h"

namespace perceiver {

enum class Split { kTrain, kEval };

// One experiment of the paper: a model, and what it is run on. What a task does not define, it
// cannot do, and says so.
class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& model() = 0;

  // The arrays and parts of a forward pass of one example. Some models are trained on fewer
  // queries than they are evaluated with.
  virtual ModelSummary summary(Split split) const = 0;

  // A forward pass on random inputs of the right sizes -> the outputs [B, O, E], as `split` asks
  // for them: for benchmarks, and to prove what summary() counts.
  virtual Tensor forward_random(int64_t batch, Split split) = 0;

  // A user's file, or two where the model takes pairs, as the model's inputs. Several rows are
  // views of one input: the overlapping clips of a longer one.
  virtual Example read(std::span<const File> files) const;

  // inputs of read(), on any device -> probabilities of the classes [B, classes].
  virtual Tensor classify(const Example& inputs);

  // inputs of read() -> latents [B, N, D]
  virtual Tensor encode(const Example& inputs);

  // What training needs. The trainer puts batches of dataset() on the model's device and knows
  // nothing of what is in them.

  // The whole config, every key with its value: what a run was started with.
  virtual std::string config() const;
  virtual const TrainConfig& train_config() const;
  virtual const EvalConfig& eval_config() const;

  // Training examples as they are cropped, augmented and masked, or held-out ones as they are
  // measured; null when there are none of these. Lives no longer than the task.
  virtual std::unique_ptr<Dataset> dataset(Split split) const;

  // Of a batch of dataset(kTrain), with the model in training mode.
  virtual Loss loss(const Example& batch);

  // Of a batch of dataset(kEval), with the model in evaluation mode and gradients off.
  virtual Measures measure(const Example& batch);

  // Added-up measures -> figures to report: by default sum / weight of each.
  virtual std::map<std::string, double> report(const Measures& all) const;
  virtual MainMeasure main_measure() const;  // one of report()'s

  // Operations of a training step on one example: forward, and twice that backward.
  virtual double train_flops() const { return 3.0 * summary(Split::kTrain).flops(); }

  // What belongs in the folder of a trained model beside its weights: names of the classes, and
  // files such as a tokenizer's.
  virtual std::vector<std::string> labels() const { return {}; }
  virtual std::vector<File> companions() const { return {}; }
};

// What a task's folder offers to the registry.
using MakeTask = std::unique_ptr<Task>(const File& config, std::span<const std::string> overrides);

// The task that `config` names in its key `task`, its model constructed as the
// surrounding ConstructScope says. `overrides` are "model.encoder.num_latents=256" and the like.
std::unique_ptr<Task> make_task(const File& config, std::span<const std::string> overrides = {});

}  // namespace perceiver
