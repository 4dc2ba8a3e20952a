// What is said of flow that was found or drawn: a table, or JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/tasks/optical_flow/measures.h"

namespace perceiver {

struct PairReport {
  std::string first, second;  // the frames; without them, the flow was read from `first`
  double seconds = 0.0;
  double mean_flow = 0.0, max_flow = 0.0;  // lengths, in pixels
  std::optional<FlowMeasures> measures = {};
  std::optional<double> consistent = {};                          // share of the pixels
  std::string output = {}, error_picture = {}, consistency = {};  // files written
};

// Sets the lengths.
void describe_flow(PairReport& report, const FlowField& field);

// All pairs, and where they went.
struct FlowResult {
  std::vector<PairReport> pairs;
  std::string output;
};

nlohmann::ordered_json to_json(const PairReport& report);
nlohmann::ordered_json to_json(const FlowResult& result);

// A row a pair, and one for all of them together where there are several.
std::string report_table(const std::vector<PairReport>& reports);

}  // namespace perceiver
