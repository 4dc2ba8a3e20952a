#include "cli/flow_estimator.h"

#include <ATen/ATen.h>

#include <chrono>

#include "perceiver/core/memory.h"
#include "perceiver/tasks/optical_flow/measures.h"

namespace perceiver {

FlowEstimator::FlowEstimator(Session& session, const FrameSource& source, const Options& options)
    : model_(model_as<OpticalFlowImpl>(session.model, "flow", "optical_flow")),
      options_(options),
      // Asked once: what a pass has taken on a GPU, the allocator keeps and the system calls used.
      tiling_({options.placement, tiles_at_once(model_, free_memory(session.device))}),
      total_known_(source.num_pairs().has_value()) {
  const OpticalFlowConfig& config = model_.config();
  const size_t tiles =
      tile_corners(config, source.height(), source.width(), options.placement).size();
  work_ = attention_work(model_.summary()) * static_cast<double>(tiles);
  if (options.both_ways) work_ *= 2;
  if (total_known_) progress_.emplace("flow", work_ * static_cast<double>(*source.num_pairs()));
}

FlowEstimate FlowEstimator::operator()(const Frame& first, const Frame& second) {
  if (!total_known_) progress_.emplace("flow of " + first.name, work_);
  const auto start = std::chrono::steady_clock::now();
  const Tensor frames = at::stack({first.pixels, second.pixels});
  const Tensor flow = tiled_flow(model_, frames, tiling_);
  FlowEstimate result{.flow = {flow, flow.isfinite().all(0)}, .consistent = {}, .seconds = 0.0};
  if (options_.both_ways) {
    result.consistent = consistent(flow, tiled_flow(model_, frames.flip(0), tiling_));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress_->clear();
  return result;
}

}  // namespace perceiver
