// What `perceiver flow` says of its results: a table, or JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
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

std::string report_line(const PairReport& report);  // a JSON document in one line

// All pairs as one JSON document; `output` is where they are.
std::string report_document(const std::vector<PairReport>& reports, const std::string& output);

// A row a pair, and one for all of them together where there are several.
std::string report_table(const std::vector<PairReport>& reports);

}  // namespace perceiver
