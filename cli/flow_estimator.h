// The model of `perceiver flow` at work on pair after pair.
#pragma once

#include "cli/flow_frames.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "perceiver/tasks/optical_flow/tiling.h"

namespace perceiver {

struct FlowEstimate {
  FlowField flow;     // unknown where the model has no number
  Tensor consistent;  // bool [H, W]: what the flow back confirms; undefined unless both ways
  double seconds;
};

class FlowEstimator {
 public:
  struct Options {
    TilePlacement placement;
    bool both_ways;
  };
  // Fails where the session's model is for another task, or does not fit into memory.
  FlowEstimator(Session& session, const FrameSource& source, const Options& options);

  // The flow from the first frame to the second.
  FlowEstimate operator()(const Frame& first, const Frame& second);

 private:
  OpticalFlowImpl& model_;
  Options options_;
  Tiling tiling_;
  double work_;       // of a pair
  bool total_known_;  // of all pairs; else each has a progress of its own
  std::optional<PassProgress> progress_;
};

}  // namespace perceiver
