#include "cli/flow_ranks.h"

#include <ATen/ATen.h>

#include <utility>

#include "cli/progress.h"
#include "perceiver/ranks/ranks.h"
#include "perceiver/ranks/shared_work.h"
#include "perceiver/weights/safetensors.h"

namespace perceiver {
namespace {

std::string encoded(const FlowEstimate& estimate) {
  NamedTensors all = {{"seconds", at::scalar_tensor(estimate.seconds, at::kDouble)},
                      {"flow", estimate.flow.flow.contiguous()}};
  for (const auto& [name, tensor] :
       {std::pair("valid", estimate.flow.valid), {"consistent", estimate.consistent}}) {
    if (tensor.defined()) all.emplace_back(name, tensor.contiguous());
  }
  return encode_safetensors(all);
}

FlowEstimate decoded(const std::string& text) {
  const TensorMap all = decode_safetensors(File{"a rank's flow", text}).tensors;
  const auto find = [&](const char* name) {
    const auto found = all.find(name);
    return found == all.end() ? Tensor() : found->second;
  };
  return {.flow = {all.at("flow"), find("valid")},
          .consistent = find("consistent"),
          .seconds = all.at("seconds").item<double>()};
}

// Pair after pair of a clip, of which some are passed over.
class Pairs {
 public:
  explicit Pairs(const std::vector<std::string>& inputs)
      : source_(inputs), first_(source_.next()), second_(source_.next()) {}

  // Null: there is no such pair. Later ones may be asked for after it, not earlier ones.
  const Frame* first(int64_t pair) {
    for (; second_ && at_ < pair; ++at_) {
      first_ = std::exchange(second_, source_.next());
    }
    return second_ ? &*first_ : nullptr;
  }
  const Frame& second() const { return *second_; }
  std::optional<int64_t> count() const { return source_.num_pairs(); }

 private:
  FrameSource source_;
  std::optional<Frame> first_, second_;
  int64_t at_ = 0;
};

}  // namespace

void share_pairs(Ranks& ranks, Model& model, const FlowJob& job, FlowOfFiles* frames,
                 const FlowCallbacks& callbacks) {
  const at::NoGradGuard no_grad;
  const FlowEstimator estimator(model, flow_options(job));
  Pairs pairs(job.inputs);
  Progress progress("flow", static_cast<double>(pairs.count().value_or(1)));
  const auto work = [&](int64_t pair) -> std::optional<std::string> {
    const Frame* first = pairs.first(pair);
    if (first == nullptr) return {};
    return encoded(estimator(first->pixels, pairs.second().pixels));
  };
  const auto take = [&](int64_t, const std::string& text) {
    const PairReport report = frames->add(decoded(text));
    progress.clear();
    callbacks.ready(report);
    if (pairs.count()) progress.add(1.0);
  };
  share(&ranks, {.work = work, .take = take});
}

}  // namespace perceiver
