#include "perceiver/model/recorded.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <mutex>

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {
namespace {

constexpr int kCallsBefore = 2;        // they choose kernels and take memory, which a graph may not
constexpr size_t kMostRecordings = 8;  // each holds the memory of a pass

// All that a recording was made for: sizes, dtypes and, since kernels know addresses, parameters.
std::vector<int64_t> key_of(const std::vector<Tensor>& parameters,
                            const std::vector<Tensor>& inputs) {
  std::vector<int64_t> key;
  for (const Tensor& x : inputs) {
    key.push_back(x.defined() ? x.dim() : -1);
    if (!x.defined()) continue;
    key.insert(key.end(), x.sizes().begin(), x.sizes().end());
    key.push_back(static_cast<int64_t>(x.scalar_type()));
  }
  for (const Tensor& p : parameters) {
    key.push_back(reinterpret_cast<int64_t>(p.const_data_ptr()));
    key.push_back(static_cast<int64_t>(p._version()));
  }
  return key;
}

struct Recording {
  int calls = 0;
  bool impossible = false;
  at::cuda::CUDAGraph graph;
  std::vector<Tensor> inputs;
  Tensor output;
  std::vector<CountedAttention> attentions;  // of each replay
};

// x in memory of its own, where it lies as x does. Padding between its rows comes along: to leave
// it out takes longer than to copy a little more.
Tensor copied(const Tensor& x) {
  constexpr double kLittle = 1.25;
  const auto stored = static_cast<double>(x.storage().nbytes());
  if (x.is_contiguous() || stored > kLittle * static_cast<double>(x.nbytes())) return x.clone();
  const auto elements = static_cast<int64_t>(x.storage().nbytes() / x.element_size());
  return x.as_strided({elements}, {1}, 0)
      .clone()
      .as_strided(x.sizes(), x.strides(), x.storage_offset());
}

void record(Recording& r, const std::vector<Tensor>& inputs,
            const RecordedForward::Forward& forward) {
  for (const Tensor& x : inputs) r.inputs.push_back(x.defined() ? x.clone() : x);
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStreamGuard guard(stream);
  // On this stream too: libraries keep memory for each. It is the replay that counts.
  attentions_of([&] { forward(r.inputs); });
  stream.synchronize();
  r.graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  try {
    r.attentions = attentions_of([&] { r.output = forward(r.inputs); });
    r.graph.capture_end();
  } catch (const std::exception&) {
    try {
      r.graph.capture_end();
    } catch (const std::exception&) {  // the failed recording, once more
    }
    r.impossible = true;
    r.output = Tensor();
  }
  stream.synchronize();
}

}  // namespace

class RecordedForward::Recordings {
 public:
  Tensor run(const torch::nn::Module& module, const std::vector<Tensor>& inputs,
             const Forward& forward) {
    const std::lock_guard lock(mutex_);
    if (parameters_.empty()) parameters_ = module.parameters();
    std::vector<int64_t> key = key_of(parameters_, inputs);
    if (recordings_.size() == kMostRecordings && !recordings_.contains(key)) recordings_.clear();
    Recording& r = recordings_[std::move(key)];
    if (r.impossible || r.calls++ < kCallsBefore) return forward(inputs);
    const c10::cuda::CUDAGuard device(inputs.at(0).device());
    if (r.inputs.empty()) record(r, inputs, forward);
    if (r.impossible) return forward(inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].defined()) r.inputs[i].copy_(inputs[i]);
    }
    count_attentions(r.attentions);
    r.graph.replay();
    return copied(r.output);
  }

 private:
  std::mutex mutex_;
  std::vector<Tensor> parameters_;
  std::map<std::vector<int64_t>, Recording> recordings_;
};

RecordedForward::RecordedForward() : recordings_(std::make_unique<Recordings>()) {}
RecordedForward::~RecordedForward() = default;

Tensor RecordedForward::operator()(const torch::nn::Module& module,
                                   const std::vector<Tensor>& inputs, const Forward& forward) {
  const bool recordable = inputs.at(0).is_cuda() && !at::GradMode::is_enabled() &&
                          !at::autocast::is_autocast_enabled(at::kCUDA) &&
                          !current_run().plain_attends && !attention_must_be_plain() &&
                          !attention_is_checked();
  return recordable ? recordings_->run(module, inputs, forward) : forward(inputs);
}

}  // namespace perceiver
