#include "perceiver/train/recorded_pass.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

namespace perceiver {

constexpr int kCallsBefore = 3;  // they choose kernels and take memory, which a graph may not

static bool same_sizes(const Example& a, const Example& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) {
           return x.first == y.first && x.second.sizes() == y.second.sizes() &&
                  x.second.dtype() == y.second.dtype();
         });
}

class RecordedPass::Recording {
 public:
  Loss run(const Example& batch, const Pass& pass) {
    if (impossible_) return pass(batch);
    if (!same_sizes(batch, batch_)) {
      if (recorded_) return pass(batch);  // the last of an epoch, say
      batch_ = batch;
      calls_ = 0;
    }
    if (calls_++ < kCallsBefore) return pass(batch);
    if (!recorded_) record(pass);
    if (impossible_) return pass(batch);
    for (auto& [name, tensor] : batch_) tensor.copy_(batch.at(name), /*non_blocking=*/true);
    graph_.replay();
    return {loss_.sum.clone(), loss_.weight.clone()};
  }

 private:
  // Recording computes nothing: the gradients stay as they are.
  void record(const Pass& pass) {
    for (auto& [name, tensor] : batch_) tensor = tensor.clone();
    c10::cuda::device_synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();  // the graph has memory of its own
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      loss_ = pass(batch_);
      graph_.capture_end();
      recorded_ = true;
    } catch (const std::exception&) {
      try {
        graph_.capture_end();
      } catch (const std::exception&) {  // the failed recording, once more
      }
      impossible_ = true;
    }
    c10::cuda::device_synchronize();
  }

  int calls_ = 0;
  bool recorded_ = false, impossible_ = false;
  at::cuda::CUDAGraph graph_;
  Example batch_;
  Loss loss_;
};

RecordedPass::RecordedPass(Pass pass)
    : pass_(std::move(pass)), recording_(std::make_unique<Recording>()) {}
RecordedPass::~RecordedPass() = default;

Loss RecordedPass::operator()(const Example& batch) {
  const bool on_gpu = !batch.empty() && batch.begin()->second.is_cuda();
  return on_gpu ? recording_->run(batch, pass_) : pass_(batch);
}

}  // namespace perceiver
