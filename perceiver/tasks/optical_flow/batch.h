// Flow of many clips at once: folders of videos, and folders of folders of frames.
#pragma once

#include <span>

#include "perceiver/tasks/optical_flow/files.h"

namespace perceiver {

// The jobs that a job stands for whose only input is a folder without pictures of its own: one for
// each video below it, and for each folder of pictures. What they write has the same place below
// the output's folder as they have below the input's. Empty where the job is a single one; fails
// where it asks for what belongs to a single one.
std::vector<FlowJob> clips_of(const FlowJob& job);

struct BatchCallbacks {
  Hooks hooks = {};
  std::function<void(const PairReport& report)> ready = {};    // after each pair
  std::function<void(const FlowResult& result)> done = {};     // after each clip
  std::function<void(const std::string& reason)> failed = {};  // a clip that is passed over
};

// One clip after another, into folders made for them. Several processes may do some each: then one
// of them calls remove_empty_places() in the end.
void flow_of_clips(Model& model, std::span<const FlowJob> clips, const BatchCallbacks& callbacks);

// The folders made for clips that could not be read.
void remove_empty_places(std::span<const FlowJob> clips);

}  // namespace perceiver
