#include "perceiver/train/evaluate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/data/loader.h"
#include "perceiver/train/dropped.h"
#include "perceiver/weights/safetensors.h"

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

void add(const Example& batch, Evaluator& all, Training& training, const EvaluateOptions& options) {
  if (!options.measured) return all.add(batch);
  const std::unique_ptr<Evaluator> one = training.evaluator();
  one->add(batch);
  options.measured(batch, one->state());
  all.merge(one->state());
}

// What all ranks have measured, on the first.
void merge(Evaluator& mine, Ranks& ranks) {
  const TensorMap state = mine.state();
  const std::vector<std::string> states =
      ranks.gather(encode_safetensors({state.begin(), state.end()}));
  for (size_t rank = 1; rank < states.size(); ++rank) {
    mine.merge(decode_safetensors(File{fmt::format("rank {}", rank), states[rank]}).tensors);
  }
}

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
  LoaderOptions loading{.batch = config.batch,
                        .seed = options.seed,
                        .shuffle = false,
                        .threads = options.threads,
                        .examples = examples,
                        .pinned = options.device.is_cuda(),
                        .waiting = options.waiting,
                        .unreadable = options.unreadable,
                        .replace_unreadable = false};
  if (options.ranks != nullptr) {
    loading.rank = options.ranks->rank();
    loading.ranks = options.ranks->size();
  }
  Loader loader(dataset, loading);
  at::NoGradGuard no_grad;
  const EvaluationMode mode(task.model());
  const std::unique_ptr<Evaluator> all = training.evaluator();
  int64_t done = 0;
  drop_together(options.ranks, [&] {
    while (!loader.done()) {
      const Example batch = to_device(loader.next(), options.device);
      done = std::min(done + config.batch, examples);
      // Empty: none of its examples can be read, or all are other ranks'.
      if (!batch.empty()) add(batch, *all, training, options);
      if (options.progress) options.progress(done, examples);
    }
  });
  Tensor left_out = at::scalar_tensor(loader.left_out(), at::kLong);
  if (options.ranks != nullptr) {
    merge(*all, *options.ranks);
    options.ranks->sum({left_out});
    if (!options.ranks->is_first()) return {{}, examples - left_out.item<int64_t>()};
  }
  const int64_t measured = examples - left_out.item<int64_t>();
  if (measured == 0) fail("none of the {} held-out examples can be read", examples);
  return {all->figures(), measured};
}

}  // namespace perceiver
