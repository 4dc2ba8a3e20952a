#include "perceiver/train/evaluate.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>

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

// What is measured of a batch, and the batch itself where it is asked for.
struct MeasuredBatch {
  TensorMap state;
  Example arrays;
};

// By its number. Where others measure some, each is kept until all are together: added up in their
// order, they are to the bit what one process has.
using MeasuredOnes = std::map<int64_t, MeasuredBatch>;

std::string encoded(const MeasuredOnes& batches) {
  NamedTensors all;
  for (const auto& [number, batch] : batches) {
    for (const auto& [name, tensor] : batch.state) {
      all.emplace_back(fmt::format("{} state {}", number, name), tensor);
    }
    for (const auto& [name, tensor] : batch.arrays) {
      all.emplace_back(fmt::format("{} array {}", number, name), tensor.contiguous());
    }
  }
  return encode_safetensors(all);
}

void decode(const std::string& text, MeasuredOnes& batches) {
  constexpr std::string_view kKinds[] = {" state ", " array "};
  for (const auto& [key, tensor] : decode_safetensors(File{"batches", text}).tensors) {
    const size_t end = key.find(' ');
    const bool is_state = key.compare(end, kKinds[0].size(), kKinds[0]) == 0;
    MeasuredBatch& batch = batches[std::stoll(key)];
    const std::string name = key.substr(end + kKinds[is_state ? 0 : 1].size());
    if (is_state) {
      batch.state[name] = tensor;
    } else {
      batch.arrays[name] = tensor;
    }
  }
}

// Measures batch after batch of this process's.
class Measuring {
 public:
  Measuring(Training& training, const EvaluateOptions& options)
      : training_(training), options_(options), all_(training.evaluator()) {}

  void add(int64_t number, const Example& batch) {
    const bool shares = options_.ranks != nullptr;
    if (!shares && !options_.measured) return all_->add(batch);
    const std::unique_ptr<Evaluator> one = training_.evaluator();
    one->add(batch);
    MeasuredBatch measured{one->state(), options_.measured ? batch : Example()};
    if (!shares) return take(measured);
    batches_[number] = std::move(measured);
  }

  // All ranks', on the first. What nobody has measured leaves the evaluator without any.
  void gather() {
    if (options_.ranks == nullptr) return;
    const std::vector<std::string> texts = options_.ranks->gather(encoded(batches_));
    batches_.clear();
    for (const std::string& text : texts) decode(text, batches_);
    for (const auto& [number, batch] : batches_) take(batch);
  }

  std::map<std::string, double> figures() const { return all_->figures(); }

 private:
  void take(const MeasuredBatch& batch) {
    if (options_.measured) options_.measured(batch.arrays, batch.state);
    all_->merge(batch.state);
  }

  Training& training_;
  const EvaluateOptions& options_;
  std::unique_ptr<Evaluator> all_;
  MeasuredOnes batches_;
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
  LoaderOptions loading{.batch = config.batch,
                        .seed = options.seed,
                        .shuffle = false,
                        .threads = options.threads,
                        .examples = examples,
                        .pinned = options.device.is_cuda(),
                        .waiting = options.waiting,
                        .unreadable = options.unreadable,
                        .replace_unreadable = false};
  const int64_t rank = options.ranks ? options.ranks->rank() : 0;
  const int64_t ranks = options.ranks ? options.ranks->size() : 1;
  loading.rank = rank, loading.ranks = ranks, loading.whole_batches = true;
  Loader loader(dataset, loading);
  at::NoGradGuard no_grad;
  const EvaluationMode mode(task.model());
  Measuring measuring(training, options);
  drop_together(options.ranks, [&] {
    for (int64_t number = rank; !loader.done(); number += ranks) {
      const Example batch = to_device(loader.next(), options.device);
      // Empty: none of its examples can be read.
      if (!batch.empty()) measuring.add(number, batch);
      const int64_t done = std::min((number - rank + ranks) * config.batch, examples);
      if (options.progress) options.progress(done, examples);
    }
  });
  measuring.gather();
  Tensor left_out = at::scalar_tensor(loader.left_out(), at::kLong);
  if (options.ranks != nullptr) {
    options.ranks->sum({left_out});
    if (!options.ranks->is_first()) return {{}, examples - left_out.item<int64_t>()};
  }
  const int64_t measured = examples - left_out.item<int64_t>();
  if (measured == 0) fail("none of the {} held-out examples can be read", examples);
  return {measuring.figures(), measured};
}

}  // namespace perceiver
