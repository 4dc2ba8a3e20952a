// The flow between two frames, by a model that is loaded.
#pragma once

#include <optional>

#include "perceiver/media/flow.h"
#include "perceiver/tasks/model.h"
#include "perceiver/tasks/optical_flow/tiling.h"

namespace perceiver {

struct FlowOptions {
  TilePlacement placement = TilePlacement::kEven;
  bool both_ways = false;  // the flow back, too, to tell what it confirms
  // Sizes that it is found at, from small to large (coarse_to_fine.h); not set: the model's.
  std::optional<int64_t> levels = {};
};

struct FlowEstimate {
  FlowField flow;     // unknown where the model has no number
  Tensor consistent;  // bool [H, W]: what the flow back confirms; undefined unless both ways
  double seconds;
};

// The model at work on pair after pair.
class FlowEstimator {
 public:
  // Fails where the model is for another task, or does not fit into memory.
  FlowEstimator(Model& model, const FlowOptions& options);

  // frames uint8 [3, H, W] -> the flow from the first to the second
  FlowEstimate operator()(const Tensor& first, const Tensor& second) const;

  double work(int64_t height, int64_t width) const;  // of a pair, as attention_work()

 private:
  OpticalFlowImpl& model_;
  FlowOptions options_;
  Tiling tiling_;
  int64_t levels_;
};

// frames uint8 [3, H, W] of one size -> the flow from the first to the second, in pixels
FlowField estimate_flow(Model& model, const Tensor& first, const Tensor& second,
                        const FlowOptions& options = {});

}  // namespace perceiver
