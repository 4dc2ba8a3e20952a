// The training loop: one for every task.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/data/loader.h"
#include "perceiver/nn/narrow_weights.h"
#include "perceiver/optim/optimizer.h"
#include "perceiver/train/checkpoint.h"
#include "perceiver/train/meter.h"
#include "perceiver/train/recorded_pass.h"
#include "perceiver/train/run_folder.h"
#include "perceiver/train/weight_average.h"

namespace perceiver {

struct TrainerOptions {
  at::Device device = at::kCPU;
  int64_t threads = 1;                     // that load
  std::optional<Example> only_batch = {};  // of every step, in place of data: for benchmarks
  // Asked after each step; other than 0: save and stop.
  std::function<int()> stop = [] { return 0; };
  std::function<void(const std::string& line)> say = [](const std::string&) {};
};

class Trainer {
 public:
  // The model, whose task is the whole experiment, moves to the device. It begins as
  // train_config().from says, or as it is.
  Trainer(Model& model, const TrainerOptions& options);

  void resume(const Checkpoint& checkpoint);

  // To the last step, or until asked to stop: -> what stop() said. A checkpoint is left behind.
  int run(RunFolder& folder);

  // One step from where the training is -> its loss and gradient norm, scalars on the device.
  struct Step {
    Tensor loss, gradient_norm;
  };
  Step step();

  int64_t steps_done() const { return step_; }
  int64_t skipped() const { return skipped_; }  // examples that could not be read

 private:
  void freeze();
  std::function<void(const std::string&)> on_unreadable();
  void start_loader();
  Example next_batch();
  double learning_rate() const;
  RecordedPass::Result pass(const Example& batch);  // forward and backward
  void refresh_narrow_weights();
  void take_gradients(const std::vector<Tensor>& made, bool first);
  void check_finite(const Step& result, const RunFolder& folder) const;
  void evaluate_and_keep_best(RunFolder& folder);
  NamedTensors state() const;  // what a checkpoint holds beside the weights
  void save(const RunFolder& folder) const;

  Model& model_;
  Task& task_;
  TrainConfig config_;
  TrainerOptions options_;
  std::vector<Tensor> trained_;  // parameters
  // Of their gradients over a step's passes. Where that is one pass, zeros, of those it does not
  // reach.
  std::vector<Tensor> sums_;
  NarrowWeights narrow_weights_;
  std::vector<Tensor> weights_;   // all parameters, also frozen ones
  int64_t weights_version_ = -1;  // that narrow_weights_ knows
  RecordedPass recorded_pass_{[this](const Example& batch) { return pass(batch); }};
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  // null: not wanted
  std::unique_ptr<Dataset> examples_, held_out_;
  std::unique_ptr<Loader> loader_;
  std::optional<Example> only_batch_;
  int64_t step_ = 0, evaluated_at_ = -1;
  std::optional<double> best_;
  std::atomic<int64_t> skipped_ = 0;
};

// Takes over the tensors of `from` by name, all that the module has but those that `new_head` names
// (as "decoder.output.*"). Fails for one that is not there or has another shape.
void take_weights(torch::nn::Module& module, torch::nn::Module& from,
                  const std::vector<std::string>& new_head, const std::string& source);

}  // namespace perceiver
