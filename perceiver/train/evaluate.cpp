#include "perceiver/train/evaluate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "perceiver/data/loader.h"

namespace perceiver {

Example to_device(const Example& batch, at::Device device) {
  Example moved;
  for (const auto& [name, tensor] : batch) moved[name] = tensor.to(device, /*non_blocking=*/true);
  return moved;
}

Evaluation evaluate(Task& task, const Dataset& dataset, const EvaluateOptions& options) {
  const EvalConfig& config = task.eval_config();
  int64_t examples = dataset.size();
  if (config.examples > 0) examples = std::min(examples, config.examples);
  Loader loader(dataset, {.batch = config.batch,
                          .seed = options.seed,
                          .shuffle = false,
                          .threads = options.threads,
                          .examples = examples,
                          .pinned = options.device.is_cuda(),
                          .unreadable = options.unreadable});
  at::NoGradGuard no_grad;
  const bool training = task.model().is_training();
  task.model().eval();
  Measures all;
  int64_t done = 0;
  while (!loader.done()) {
    const Example batch = to_device(loader.next(), options.device);
    const Measures some = task.measure(batch);
    if (options.measured) options.measured(batch, some);
    for (const auto& [name, measure] : some) {
      all[name].sum += measure.sum;
      all[name].weight += measure.weight;
    }
    done = std::min(done + config.batch, examples);
    if (options.progress) options.progress(done, examples);
  }
  task.model().train(training);
  return {task.report(all), examples};
}

}  // namespace perceiver
