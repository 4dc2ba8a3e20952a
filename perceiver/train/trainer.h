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
#include "perceiver/ranks/gradient_buckets.h"
#include "perceiver/ranks/ranks.h"
#include "perceiver/tasks/training.h"
#include "perceiver/train/checkpoint.h"
#include "perceiver/train/duration.h"
#include "perceiver/train/meter.h"
#include "perceiver/train/recorded_pass.h"
#include "perceiver/train/run_folder.h"
#include "perceiver/train/shared_optimizer.h"
#include "perceiver/train/skipped_examples.h"
#include "perceiver/train/step_memory.h"
#include "perceiver/train/weight_average.h"
#include "perceiver/train/whole_batch_norm.h"

namespace perceiver {

// What is known after a step.
struct StepReport {
  int64_t step, steps;  // done, and in all
  Metrics figures;
  bool logged;  // as a line of metrics.jsonl
};

struct TrainerOptions {
  at::Device device = at::kCPU;
  int64_t threads = 1;                     // that load
  std::optional<Example> only_batch = {};  // of every step, in place of data: for benchmarks
  // Asked after each step; other than 0: save and stop.
  std::function<int()> stop = [] { return 0; };
  // Asked many times within a step or an evaluation on a CPU, where either may take minutes. Other
  // than 0: what is not finished is dropped, the rest saved.
  std::function<int()> look = {};
  // After each step; on a GPU, which is not waited for, after those that are logged.
  std::function<void(const StepReport& report)> stepped = [](const StepReport&) {};
  std::function<void(const std::string& line)> say = [](const std::string&) {};
  // Processes that share each batch, all with a trainer such as this one. Each takes a part of it,
  // or several, and all come to the same weights; the first one evaluates, writes and decides when
  // to stop, together with the others. Null: there is this one.
  Ranks* ranks = nullptr;
};

class Trainer {
 public:
  // The model, whose settings are a whole experiment, moves to the device. It begins as
  // train.from says, or as it is. Fails where models of its task are not trained.
  Trainer(Model& model, const TrainerOptions& options);

  void resume(const Checkpoint& checkpoint);

  // Of a step on the CPU, found out by the forward pass of one example.
  StepMemory step_memory();

  // Fails where a step needs more memory than is free, with settings that would fit. On a GPU,
  // where a step that does not fit ends at once, it is not asked.
  void check_step_fits();

  // To the last step, or until asked to stop: -> what stop() or look() said. A checkpoint of the
  // last step that was finished is left behind. Ranks begin as the first one has it.
  int run(RunFolder& folder);

  // One step from where the training is -> its loss and gradient norm, scalars on the device.
  struct Step {
    Tensor loss, gradient_norm;
  };
  Step step();

  int64_t steps_done() const { return step_; }
  int64_t steps() const { return config_.steps; }  // in all
  int64_t skipped() const;  // examples that could not be read; after run(), on all ranks

 private:
  int64_t rank() const { return options_.ranks ? options_.ranks->rank() : 0; }
  int64_t num_ranks() const { return options_.ranks ? options_.ranks->size() : 1; }
  bool is_first() const { return rank() == 0; }
  void count_parts();
  void count_steps();
  void freeze();
  std::function<void(const std::string&)> on_unreadable();
  void start_loader();
  Example part(int64_t number);  // of the batch, of this rank's; in their order
  double learning_rate() const;
  bool is_watched() const { return options_.look && options_.device.is_cpu(); }
  void drop_if_asked() const;
  Loss loss_of(const Example& part);
  void forget_gradients();
  std::vector<Tensor> made_gradients();
  RecordedPass::Result pass(const Example& part);  // forward and backward
  void pass_to_norm(const std::vector<Example>& parts);
  std::vector<Tensor> gradients_of_norm(const std::vector<Example>& parts);
  Loss all_passes(const std::vector<Example>& parts);
  Loss passes();  // of a step
  void refresh_narrow_weights();
  void take_gradients(const std::vector<Tensor>& made, bool first);
  Loss passes_of_ranks(const std::vector<Example>& parts);
  void sum_over_ranks(const std::vector<Tensor>& tensors);
  void begin_as_the_first();
  int64_t most_of_all(int64_t value) const;
  bool evaluates_now() const;
  int run_step(RunFolder& folder, Meter& meter);  // -> what stop() said
  RestOfRun rest(Meter& meter) const;
  void report(RunFolder& folder, Meter& meter, const Step& result, double rate);
  void check_finite(const Step& result, const RunFolder& folder) const;
  void evaluate_and_keep_best(RunFolder& folder);
  void sign(const RunFolder& folder) const;  // the model: whose weights it has from now on
  NamedTensors average_state() const;        // what a checkpoint holds of it
  void save(const RunFolder& folder);

  Model& model_;
  Task& task_;
  Training& training_;
  TrainConfig config_;
  TrainerOptions options_;
  int64_t num_parts_ = 1;          // of a batch, that are this rank's
  std::vector<Tensor> trained_;    // parameters
  std::vector<Tensor> leaves_;     // trained_, and the statistics of norms_
  std::vector<Tensor> gradients_;  // of leaves_, in a step
  // Over a step's passes. Where that is one pass, zeros, of leaves_ that it does not reach.
  std::vector<Tensor> sums_;
  std::optional<WholeBatchNorm> norms_;     // nothing where a batch is one pass
  std::optional<GradientBuckets> buckets_;  // of leaves_, of ranks on CPUs
  NarrowWeights narrow_weights_;
  std::vector<Tensor> weights_;   // all parameters, also frozen ones
  int64_t weights_version_ = -1;  // that narrow_weights_ knows
  RecordedPass recorded_pass_{[this](const Example& part) { return pass(part); }};
  std::unique_ptr<SharedOptimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  // null: not wanted
  std::unique_ptr<Dataset> examples_, held_out_;
  std::unique_ptr<Loader> loader_;
  std::optional<Example> only_batch_;
  std::vector<Example> kept_parts_;  // of the batch that is trained on again and again
  int64_t step_ = 0, evaluated_at_ = -1, saved_at_ = 0;
  bool unevaluated_ = false;  // the step's evaluation was begun and not finished
  bool is_timed_ = false;     // the whole run was estimated
  std::optional<double> seconds_per_evaluation_;
  std::optional<double> best_;
  SkippedExamples skipped_;
  std::optional<int64_t> skipped_by_all_;
};

// Takes over the tensors of `from` by name, all that the module has but those that `new_head` names
// (as "decoder.output.*"). Fails for one that is not there or has another shape.
void take_weights(torch::nn::Module& module, torch::nn::Module& from,
                  const std::vector<std::string>& new_head, const std::string& source);

}  // namespace perceiver
