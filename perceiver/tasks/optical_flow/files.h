// Flow of a user's files: two pictures, a folder of them or a video in, files of flow out.
#pragma once

#include "perceiver/tasks/hooks.h"
#include "perceiver/tasks/optical_flow/estimate.h"
#include "perceiver/tasks/optical_flow/output.h"
#include "perceiver/tasks/optical_flow/report.h"

namespace perceiver {

struct FlowJob {
  std::vector<std::string> inputs;  // two pictures, a folder of them, or a video
  FlowWriter::Options output = {};
  std::string ground_truth = {};                     // a file of flow, or a folder of them
  std::string error_picture = {}, consistency = {};  // a .png or a folder; empty: none
  TilePlacement placement = TilePlacement::kEven;
  std::optional<int64_t> levels = {};  // not set: the model's
};

// Fails unless each output has a place of its own.
void check_places(const FlowJob& job);

FlowOptions flow_options(const FlowJob& job);

struct FlowCallbacks {
  Hooks hooks = {};
  std::function<void(const PairReport& report)> ready = {};  // after each pair
};

// Inputs are opened and outputs checked when it is made: before a model is loaded.
class FlowOfFiles {
 public:
  explicit FlowOfFiles(const FlowJob& job);

  // All pairs, by this model.
  void run(Model& model, const FlowCallbacks& callbacks = {});

  // Or, in place of that, pair after pair, found elsewhere by flow_options().
  PairReport add(const FlowEstimate& estimate);

  FlowResult finish();

 private:
  FlowJob job_;
  FrameSource source_;
  GroundTruth truth_;
  PathSet inputs_;
  FlowWriter writer_;
  ExtraPictures errors_, masks_;
  std::optional<Frame> first_, second_;
  FlowResult result_;
};

// Both at once.
FlowResult flow_of_files(Model& model, const FlowJob& job, const FlowCallbacks& callbacks = {});

// An existing file of flow, drawn or written in another format, and measured. The only input of the
// job may be a frame for arrows.
FlowResult draw_flow_file(const std::string& file, const FlowJob& job);

}  // namespace perceiver
