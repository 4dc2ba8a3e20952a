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

// How a part of the input array looks to a person.
struct InputView {
  std::string modality;
  int64_t first = 0;                    // of its elements in the input array
  std::vector<int64_t> grid;            // of its elements: {H, W}, {T, H, W}, or their number
  Tensor pictures = {};                 // uint8 [T, 3, H, W] of what is in the grid, if it is seen
  std::vector<std::string> texts = {};  // what each element stands for, if it is read
};

// One experiment of the paper: a model, and what it is run on. What a task does not define, it
// cannot do, and says so.
class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& model() = 0;

  // The arrays and parts of a forward pass of one example. Some models are trained on fewer
  // queries than they are evaluated with.
  virtual ModelSummary summary(Split split) const = 0;

  // Inputs of the right sizes and any values, on the CPU: for benchmarks, and to prove what
  // summary() counts.
  virtual Example random_inputs(int64_t batch) const = 0;

  // Such inputs, in the place and the dtype of the model -> the outputs [B, O, E], as `split` asks
  // for them; where they are of several kinds, the values made of all of them, [B, values].
  virtual Tensor forward(const Example& inputs, Split split) = 0;
  Tensor forward_random(int64_t batch, Split split);  // both

  // A user's file, or two where the model takes pairs, as the model's inputs. Several rows are
  // views of one input: the overlapping clips of a longer one.
  virtual Example read(std::span<const File> files) const;

  // inputs of read(), on any device -> probabilities of the classes [B, classes].
  virtual Tensor classify(const Example& inputs);

  // inputs of read() -> latents [B, N, D]
  virtual Tensor encode(const Example& inputs);

  // The first row of what read() gave, to be drawn on.
  virtual std::vector<InputView> views(const Example& inputs) const;

  // What training needs. The trainer puts batches of dataset() on the model's device and knows
  // nothing of what is in them.

  // The whole config, every key with its value: what a run was started with.
  virtual std::string config() const;
  virtual const TrainConfig& train_config() const;
  virtual const EvalConfig& eval_config() const;

  // Training examples as they are cropped, augmented and masked, or held-out ones as they are
  // measured; null when there are none of these. Lives no longer than the task.
  virtual std::unique_ptr<Dataset> dataset(Split split) const;

  // A batch as those of dataset(kTrain), of the right sizes and any values, on the CPU.
  virtual Example random_batch(int64_t batch) const;

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

// `x` on the device of the module's weights, and in their dtype where it holds real numbers.
Tensor in_place_of(const torch::nn::Module& module, const Tensor& x);
Example in_place_of(const torch::nn::Module& module, const Example& x);

// What a task's folder offers to the registry.
using MakeTask = std::unique_ptr<Task>(const File& config, std::span<const std::string> overrides);

// The task that `config` names in its key `task`, its model constructed as the
// surrounding ConstructScope says. `overrides` are "model.encoder.num_latents=256" and the like.
std::unique_ptr<Task> make_task(const File& config, std::span<const std::string> overrides = {});

}  // namespace perceiver
