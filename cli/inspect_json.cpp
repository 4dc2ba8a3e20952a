#include <fmt/format.h>

#include "cli/inspect_report.h"
#include "perceiver/core/config.h"
#include "perceiver/core/json_text.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::optional<ArraySize>& a) { return a ? Json{a->index, a->channels} : Json(); }

Json parts_json(const Inspected& inspected) {
  Json parts = Json::array();
  for (const Part& part : inspected.summary.parts) {
    Json item = {{"name", part.name},
                 {"times", part.times},
                 {"parameters", part.parameters},
                 {"flops", part.flops}};
    if (part.attention) {
      const AttentionCase& a = *part.attention;
      const AttendPlan plan = planned(part, inspected);
      item["attention"] = {{"heads", a.heads},
                           {"queries", a.queries},
                           {"keys", a.keys},
                           {"qk_channels_per_head", a.qk_channels},
                           {"v_channels_per_head", a.v_channels},
                           {"form", form_word(plan)},
                           {"kernel", plan.kernel},
                           {"product", plan.product},
                           {"refusals", refusals(plan)}};
    }
    parts.push_back(std::move(item));
  }
  return parts;
}

Json to_json(const WeightsReport& weights) {
  using Kind = WeightsProblem::Kind;
  Json json = {{"source", weights.source},     {"tensors", weights.tensors},
               {"dtypes", weights.dtypes},     {"bytes", weights.bytes},
               {"missing", Json::array()},     {"superfluous", Json::array()},
               {"wrong_shapes", Json::array()}};
  for (const WeightsProblem& problem : weights.problems) {
    if (problem.kind == Kind::kWrongShape) {
      json["wrong_shapes"].push_back(
          {{"tensor", problem.tensor}, {"shape", problem.shape}, {"expected", problem.expected}});
    } else {
      // What the format has no place for is missing from the file, too.
      json[problem.kind == Kind::kSuperfluous ? "superfluous" : "missing"].push_back(
          problem.tensor);
    }
  }
  return json;
}

}  // namespace

void print_inspected_json(const Inspected& inspected, const InspectArgs& args) {
  const ModelSummary& s = inspected.summary;
  const MemoryPlan& memory = inspected.memory;
  Json document = {{"config", args.config},
                   {"origin", to_word(inspected.origin.weights)},
                   {"split", args.split},
                   {"device",
                    {{"text", device_text(inspected.place.device)},
                     {"assumed", !inspected.place.device.name.empty()}}},
                   {"inputs", to_json(s.inputs)},
                   {"latents", to_json(s.latents)},
                   {"queries", to_json(s.queries)},
                   {"outputs", to_json(s.outputs)},
                   {"parameters", s.parameters()},
                   {"flops", s.flops()},
                   {"memory",
                    {{"batch", args.batch},
                     {"dtype", args.dtype},
                     {"program", memory.program},
                     {"weights", memory.weights},
                     {"packed", memory.packed},
                     {"packing", memory.packing},
                     {"inputs", memory.inputs},
                     {"encode", memory.encode},
                     {"process", memory.process},
                     {"decode", memory.decode},
                     {"peak", memory.peak()}}},
                   {"parts", parts_json(inspected)}};
  if (s.compression) document["compression"] = *s.compression;
  if (!inspected.arrays.empty()) document["arrays"] = inspected.arrays_json;
  if (inspected.weights) document["weights"] = to_json(*inspected.weights);
  if (inspected.lacks_weights) document["weights_here"] = false;
  fmt::print("{}\n", json_text(document, 2));
}

}  // namespace perceiver
