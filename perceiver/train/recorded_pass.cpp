#include "perceiver/train/recorded_pass.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <utility>

namespace perceiver {

namespace {

constexpr int kCallsBefore = 3;        // they choose kernels and take memory, which a graph may not
constexpr size_t kMostRecordings = 8;  // of batches of as many sizes

std::vector<int64_t> key_of(const Example& batch) {
  std::vector<int64_t> key;
  for (const auto& [name, tensor] : batch) {
    key.push_back(tensor.dim());
    key.insert(key.end(), tensor.sizes().begin(), tensor.sizes().end());
    key.push_back(static_cast<int64_t>(tensor.scalar_type()));
  }
  return key;
}

struct Recording {
  int calls = 0;
  bool impossible = false;
  at::cuda::CUDAGraph graph;
  Example batch;  // where the graph reads; empty until it is recorded
  RecordedPass::Result result;
};

// Copies what `made` holds to where `kept` has it already, and lets go of it.
void move_to(const std::vector<Tensor>& kept, std::vector<Tensor>& made) {
  std::vector<Tensor> to, from;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i].defined() || !made[i].defined()) continue;
    to.push_back(kept[i]);
    from.push_back(std::exchange(made[i], kept[i]));
  }
  if (!to.empty()) at::_foreach_copy_(to, from);
}

// `kept` are the gradients of an earlier recording, if there is one: all use the same memory.
void record(Recording& r, const Example& batch, const RecordedPass::Pass& pass,
            const std::vector<Tensor>& kept, at::cuda::MempoolId_t memory) {
  for (const auto& [name, tensor] : batch) r.batch[name] = tensor.clone();
  c10::cuda::device_synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache();  // graphs have memory of their own
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  r.graph.capture_begin(memory, cudaStreamCaptureModeThreadLocal);
  try {
    r.result = pass(r.batch);
    move_to(kept, r.result.gradients);
    r.graph.capture_end();
  } catch (const std::exception&) {
    try {
      r.graph.capture_end();
    } catch (const std::exception&) {  // the failed recording, once more
    }
    r.impossible = true;
  }
  c10::cuda::device_synchronize();
}

}  // namespace

class RecordedPass::Recordings {
 public:
  Result run(const Example& batch, const Pass& pass) {
    std::vector<int64_t> key = key_of(batch);
    if (!recordings_.contains(key) && !make_room()) return pass(batch);
    Recording& r = recordings_[std::move(key)];
    if (r.impossible || r.calls++ < kCallsBefore) return pass(batch);
    if (r.batch.empty()) record(r, batch, pass, gradients_, memory_);
    if (r.impossible) return pass(batch);
    if (gradients_.empty()) gradients_ = r.result.gradients;
    for (auto& [name, tensor] : r.batch) tensor.copy_(batch.at(name), /*non_blocking=*/true);
    r.graph.replay();
    return {{r.result.loss.sum.clone(), r.result.loss.weight.clone()}, r.result.gradients};
  }

 private:
  // Sizes seen too seldom to be recorded give way to new ones.
  bool make_room() {
    if (recordings_.size() < kMostRecordings) return true;
    return std::erase_if(recordings_, [](const auto& item) { return item.second.batch.empty(); }) >
           0;
  }

  // All graphs work in the same memory, one at a time.
  at::cuda::MempoolId_t memory_ = at::cuda::graph_pool_handle();
  std::vector<Tensor> gradients_;  // of every recording
  std::map<std::vector<int64_t>, Recording> recordings_;
};

RecordedPass::RecordedPass(Pass pass)
    : pass_(std::move(pass)), recordings_(std::make_unique<Recordings>()) {}
RecordedPass::~RecordedPass() = default;

RecordedPass::Result RecordedPass::operator()(const Example& batch) {
  const bool on_gpu = !batch.empty() && batch.begin()->second.is_cuda();
  return on_gpu ? recordings_->run(batch, pass_) : pass_(batch);
}

}  // namespace perceiver
