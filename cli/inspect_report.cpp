#include "cli/inspect_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/format.h"
#include "perceiver/zoo/find.h"

namespace perceiver {
namespace {

// Layers that differ in their number alone are one line: "encoder.self_attend_0-23".
std::string family(const std::string& name) {
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

struct Line {
  Part part;
  int64_t count = 1;
};

std::vector<Line> merged(const std::vector<Part>& parts) {
  std::vector<Line> lines;
  for (const Part& part : parts) {
    const bool numbered = std::isdigit(static_cast<unsigned char>(part.name.back())) != 0;
    if (numbered && !lines.empty() && family(lines.back().part.name) == family(part.name) &&
        lines.back().part.flops == part.flops * lines.back().count) {
      lines.back().part.parameters += part.parameters;
      lines.back().part.flops += part.flops;
      ++lines.back().count;
    } else {
      lines.push_back({part});
    }
  }
  return lines;
}

void print_summary(const Inspected& inspected) {
  const ModelSummary& s = inspected.summary;
  fmt::print("inputs   {}\n", array(s.inputs.index, s.inputs.channels));
  if (s.latents) fmt::print("latents  {}\n", array(s.latents->index, s.latents->channels));
  if (s.queries) fmt::print("queries  {}\n", array(s.queries->index, s.queries->channels));
  fmt::print("outputs  {}\n", array(s.outputs.index, s.outputs.channels));
  if (s.compression) {
    fmt::print("compression {:.1f}x, values of the inputs to those of the latents\n",
               *s.compression);
  }
  fmt::print("\n");

  std::vector<std::vector<std::string>> rows = {{"part", "times", "parameters", "FLOPs", "heads",
                                                 "queries x keys", "q/k, v a head", "form",
                                                 "attention", "products"}};
  std::string refused;
  for (const auto& [part, count] : merged(s.parts)) {
    const std::string name = count == 1 ? part.name : fmt::format("{}-{}", part.name, count - 1);
    std::vector<std::string> row = {name, std::to_string(part.times), grouped(part.parameters),
                                    part.flops > 0 ? amount(part.flops) : "-"};
    if (part.attention) {
      const AttentionCase& a = *part.attention;
      const AttendPlan plan = planned(part, inspected);
      row.insert(
          row.end(),
          {std::to_string(a.heads), fmt::format("{} x {}", grouped(a.queries), grouped(a.keys)),
           fmt::format("{}, {}", a.qk_channels, a.v_channels), std::string(form_word(plan)),
           std::string(plan.kernel), std::string(plan.product)});
      for (const std::string& reason : refusals(plan))
        refused += fmt::format("  {}: {}\n", name, reason);
    }
    rows.push_back(std::move(row));
  }
  rows.push_back({"all", "", grouped(s.parameters()), amount(s.flops())});
  fmt::print("{}", table(rows));
  if (!refused.empty()) fmt::print("\nfaster kernels that refused\n{}", refused);
}

void print_memory(const MemoryPlan& memory, const InspectArgs& args) {
  fmt::print("\nmemory of a forward pass, {} x {} (estimate): peak {}\n", args.batch, args.dtype,
             bytes(memory.peak()));
  if (memory.program > 0) fmt::print("  program and libraries {}\n", bytes(memory.program));
  fmt::print("  weights {}", bytes(memory.weights));
  if (memory.packed > 0) {
    fmt::print(", packed for inference {} more, and {} on the way", bytes(memory.packed),
               bytes(memory.packing));
  }
  if (memory.inputs > 0) fmt::print("\n  making the inputs {}", bytes(memory.inputs));
  fmt::print("\n  then at most one of: encode {}, process {}, decode in slices of {} {}\n",
             bytes(memory.encode), bytes(memory.process), grouped(args.slice),
             bytes(memory.decode));
}

// A foreign model has nothing in common with ours: its names are not listed to the last.
constexpr size_t kProblemsShown = 20;

void print_weights(const WeightsReport& weights) {
  std::vector<std::string> dtypes;
  for (const auto& [dtype, tensors] : weights.dtypes) dtypes.push_back(dtype);
  fmt::print("\nweights: {} tensors, {}, {}, {}\n", weights.tensors, fmt::join(dtypes, " and "),
             bytes(weights.bytes),
             weights.problems.empty() ? "all there" : count_problems(weights.problems));
  for (size_t i = 0; i < std::min(weights.problems.size(), kProblemsShown); ++i) {
    fmt::print("  {}\n", to_string(weights.problems[i]));
  }
  if (weights.problems.size() > kProblemsShown) {
    fmt::print("  and {} more\n", weights.problems.size() - kProblemsShown);
  }
}

}  // namespace

AttendPlan planned(const Part& part, const Inspected& inspected) {
  return plan_attend(part, inspected.place);
}

std::string_view form_word(const AttendPlan& plan) {
  return plan.way == AttendWay::kInference ? to_word(plan.form) : to_word(plan.way);
}

std::string device_text(const Hardware& device) {
  const std::string name =
      device.name.empty() ? device.str() : fmt::format("{}, assumed", device.name);
  if (device.is_cpu()) {
    return fmt::format("{}: inner loops for {} in float32, {} in bfloat16", name,
                       device.float_tiles, device.bf16_tiles.empty() ? "none" : device.bf16_tiles);
  }
  const Gpu& gpu = device.gpu;
  return fmt::format("{}: sm_{}, {} multiprocessors, {}", name, gpu.compute_capability,
                     gpu.multiprocessors, bytes(gpu.memory));
}

void print_inspected(const Inspected& inspected, const InspectArgs& args) {
  if (!inspected.arrays.empty()) fmt::print("{}\n", inspected.arrays);
  fmt::print("device   {}\n", device_text(inspected.place.device));
  print_summary(inspected);
  print_memory(inspected.memory, args);
  fmt::print("\n{}; {}\n", to_string(inspected.origin), inspected.semantics);
  if (inspected.weights) print_weights(*inspected.weights);
  if (inspected.lacks_weights) {
    fmt::print("\nweights: not on this machine; {}\n", how_to_get(args.config));
  }
}

}  // namespace perceiver
