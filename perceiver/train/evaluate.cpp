#include "perceiver/train/evaluate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/data/loader.h"

namespace perceiver {
namespace {

// The module in evaluation mode while this lives.
class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module& module)
      : module_(module), was_training_(module.is_training()) {
    module_.eval();
  }
  ~EvaluationMode() { module_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& module_;
  bool was_training_;
};

}  // namespace

Example to_device(const Example& batch, at::Device device) {
  Example moved;
  for (const auto& [name, tensor] : batch) moved[name] = tensor.to(device, /*non_blocking=*/true);
  return moved;
}

int64_t num_evaluated(const Dataset& dataset, const EvalConfig& config) {
  return config.examples > 0 ? std::min(dataset.size(), config.examples) : dataset.size();
}

Evaluation evaluate(Task& task, const Dataset& dataset, const EvaluateOptions& options) {
  Training& training = *task.training();
  const EvalConfig& config = training.eval_config();
  const int64_t examples = num_evaluated(dataset, config);
  Loader loader(dataset, {.batch = config.batch,
                          .seed = options.seed,
                          .shuffle = false,
                          .threads = options.threads,
                          .examples = examples,
                          .pinned = options.device.is_cuda(),
                          .waiting = options.waiting,
                          .unreadable = options.unreadable,
                          .replace_unreadable = false});
  at::NoGradGuard no_grad;
  const EvaluationMode mode(task.model());
  const std::unique_ptr<Evaluator> all = training.evaluator();
  int64_t done = 0;
  while (!loader.done()) {
    const Example batch = to_device(loader.next(), options.device);
    done = std::min(done + config.batch, examples);
    if (batch.empty()) continue;  // none of its examples can be read
    if (options.measured) {
      const std::unique_ptr<Evaluator> one = training.evaluator();
      one->add(batch);
      options.measured(batch, one->state());
      all->merge(one->state());
    } else {
      all->add(batch);
    }
    if (options.progress) options.progress(done, examples);
  }
  const int64_t measured = examples - loader.left_out();
  if (measured == 0) fail("none of the {} held-out examples can be read", examples);
  return {all->figures(), measured};
}

}  // namespace perceiver
