// What `perceiver inspect` found, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/model/summary.h"
#include "perceiver/nn/attend_plan.h"
#include "perceiver/tasks/origin.h"
#include "perceiver/zoo/weights_report.h"

namespace perceiver {

struct InspectArgs {
  std::string config, dtype = "float32", device = "cpu", split = "eval";
  std::vector<std::string> overrides;
  int64_t batch = 1, slice = 16384;
  bool json = false;
};

struct Inspected {
  ModelSummary summary;
  MemoryPlan memory;
  std::optional<WeightsReport> weights;  // of a config there are none
  Origin origin;
  std::string semantics;  // whose arithmetic it is, as a sentence
  // Of a model of the task arrays: what it sees and is asked.
  std::string arrays = {};
  nlohmann::ordered_json arrays_json = {};
};

// What will compute an attention, and what the faster ones say.
AttentionChoice choose(const Part& part, const InspectArgs& args);

void print_inspected(const Inspected& inspected, const InspectArgs& args);
void print_inspected_json(const Inspected& inspected, const InspectArgs& args);

}  // namespace perceiver
