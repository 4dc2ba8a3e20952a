#include "perceiver/tasks/optical_flow/estimate.h"

#include <ATen/ATen.h>

#include <chrono>

#include "perceiver/core/memory.h"
#include "perceiver/tasks/hooks.h"
#include "perceiver/tasks/optical_flow/coarse_to_fine.h"
#include "perceiver/tasks/optical_flow/measures.h"

namespace perceiver {
namespace {

// Asked once: what a pass has taken on a GPU, the allocator keeps and the system calls used.
Tiling tiling_of(const OpticalFlowImpl& model, TilePlacement placement) {
  const at::Device device = model.parameters().front().device();
  return {placement, tiles_at_once(model, device, free_memory(device))};
}

void check_frames(const Tensor& first, const Tensor& second) {
  check_shape(first, {3, kAny, kAny}, "the first frame");
  check_shape(second, {3, first.size(1), first.size(2)}, "the second frame");
}

}  // namespace

FlowEstimator::FlowEstimator(Model& model, const FlowOptions& options)
    : model_(model_as<OpticalFlowImpl>(model, "flow", "optical_flow")),
      options_(options),
      tiling_(tiling_of(model_, options.placement)),
      levels_(options.levels.value_or(model_.config().levels)) {}

FlowEstimate FlowEstimator::operator()(const Tensor& first, const Tensor& second) const {
  const at::NoGradGuard no_grad;
  check_frames(first, second);
  const auto start = std::chrono::steady_clock::now();
  const Tensor frames = at::stack({first, second});
  const Tensor flow = coarse_to_fine(model_, frames, tiling_, levels_);
  FlowEstimate result{.flow = {flow, flow.isfinite().all(0)}, .consistent = {}, .seconds = 0.0};
  if (options_.both_ways) {
    result.consistent = consistent(flow, coarse_to_fine(model_, frames.flip(0), tiling_, levels_));
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

double FlowEstimator::work(int64_t height, int64_t width) const {
  size_t tiles = 0;
  for (const ImageSize& size : sizes_of_levels({height, width}, levels_)) {
    tiles += tile_corners(model_.config(), size.height, size.width, options_.placement).size();
  }
  const double one_way = attention_work(model_.summary()) * static_cast<double>(tiles);
  return options_.both_ways ? 2 * one_way : one_way;
}

FlowField estimate_flow(Model& model, const Tensor& first, const Tensor& second,
                        const FlowOptions& options) {
  return FlowEstimator(model, options)(first, second).flow;
}

}  // namespace perceiver
