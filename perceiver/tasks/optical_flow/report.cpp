#include "perceiver/tasks/optical_flow/report.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <filesystem>

#include "perceiver/core/text.h"
#include "perceiver/tasks/optical_flow/draw.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const FlowMeasures& m) {
  return {{"pixels", m.num_pixels}, {"epe", m.epe},           {"above_1px", m.above_1},
          {"above_3px", m.above_3}, {"above_5px", m.above_5}, {"fl_all", m.fl_all}};
}

std::vector<FlowMeasures> measures_of(const std::vector<PairReport>& reports) {
  std::vector<FlowMeasures> measures;
  for (const PairReport& r : reports) {
    if (r.measures) measures.push_back(*r.measures);
  }
  return measures;
}

void add_measures(std::vector<std::string>& row, const FlowMeasures& m) {
  row.push_back(fmt::format("{:.3f} px", m.epe));
  for (const double share : {m.above_1, m.above_3, m.above_5, m.fl_all}) {
    row.push_back(fmt::format("{:.2f} %", 100 * share));
  }
}

}  // namespace

void describe_flow(PairReport& report, const FlowField& field) {
  const Tensor lengths = field.flow.norm(2, 0).masked_select(field.valid);
  report.mean_flow = lengths.numel() == 0 ? 0.0 : lengths.mean().item<double>();
  report.max_flow = largest_flow(field);
}

Json to_json(const PairReport& r) {
  Json json = {{"first", r.first}};
  if (!r.second.empty()) json["second"] = r.second;
  json["output"] = r.output;
  if (!r.second.empty()) json["seconds"] = r.seconds;
  json["mean_flow"] = r.mean_flow;
  json["max_flow"] = r.max_flow;
  if (r.measures) json["measures"] = to_json(*r.measures);
  if (r.consistent) json["consistent"] = *r.consistent;
  if (!r.error_picture.empty()) json["error_picture"] = r.error_picture;
  if (!r.consistency.empty()) json["consistency"] = r.consistency;
  return json;
}

Json to_json(const FlowResult& result) {
  Json pairs = Json::array();
  for (const PairReport& r : result.pairs) pairs.push_back(to_json(r));
  Json document = {{"pairs", pairs}, {"output", result.output}};
  const std::vector<FlowMeasures> measures = measures_of(result.pairs);
  if (!measures.empty()) document["measures"] = to_json(pooled(measures));
  return document;
}

std::string report_table(const std::vector<PairReport>& reports) {
  const std::vector<FlowMeasures> measures = measures_of(reports);
  bool any_consistent = false;
  for (const PairReport& r : reports) any_consistent |= r.consistent.has_value();
  std::vector<std::vector<std::string>> rows = {{"", "mean flow", "longest"}};
  if (any_consistent) rows[0].push_back("consistent");
  if (!measures.empty()) {
    for (const char* name : {"EPE", "> 1 px", "> 3 px", "> 5 px", "Fl-all"}) {
      rows[0].push_back(name);
    }
  }
  for (const PairReport& r : reports) {
    std::vector<std::string> row = {std::filesystem::path(r.first).filename().string(),
                                    fmt::format("{:.2f} px", r.mean_flow),
                                    fmt::format("{:.2f} px", r.max_flow)};
    if (any_consistent) row.push_back(fmt::format("{:.1f} %", 100 * r.consistent.value_or(0.0)));
    if (r.measures) add_measures(row, *r.measures);
    row.resize(rows[0].size());
    rows.push_back(row);
  }
  if (measures.size() > 1) {
    std::vector<std::string> row = {fmt::format("all {} with ground truth", measures.size())};
    row.resize(rows[0].size() - 5);
    add_measures(row, pooled(measures));
    rows.push_back(row);
  }
  return table(rows);
}

}  // namespace perceiver
