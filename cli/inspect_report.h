// What `perceiver inspect` found, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/model/memory_plan.h"
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
  AttendPlace place;  // where it would run
  MemoryPlan memory;
  std::optional<WeightsReport> weights;  // of a config there are none
  Origin origin;
  std::string semantics;       // whose arithmetic it is, as a sentence
  bool lacks_weights = false;  // a released model that is not on this machine
  // Of a model of the task arrays: what it sees and is asked.
  std::string arrays = {};
  nlohmann::ordered_json arrays_json = {};
};

// How a part's attention will be computed; of a part that has one.
AttendPlan planned(const Part& part, const Inspected& inspected);
std::string_view form_word(const AttendPlan& plan);

// What the plans go by: "an H200, assumed: sm_90, 132 multiprocessors, 139.8 GiB".
std::string device_text(const Hardware& device);

void print_inspected(const Inspected& inspected, const InspectArgs& args);
void print_inspected_json(const Inspected& inspected, const InspectArgs& args);

}  // namespace perceiver
