#include "perceiver/model/memory_plan.h"

#include <algorithm>

namespace perceiver {
namespace {

// LibTorch's and the other libraries' code and data, as a small model leaves them.
constexpr int64_t kProgram = int64_t{130} << 20;

int64_t values(const ArraySize& a) { return a.index * a.channels; }

bool is_of_decoder(const Part& part) { return part.name.starts_with("decoder"); }

// Values that an attend of the inference form for CPUs holds at one time, of one example and beside
// its two arrays.
int64_t held_on_cpu(const AttendPlan& plan, const AttendShape& s) {
  const int64_t n = plan.attention.queries, m = plan.attention.keys;
  const int64_t results = n * (2 * s.results + s.hidden + s.outputs);
  switch (plan.form) {
    case AttendForm::kPlain:
      return m * (s.kv_channels + s.qk_channels + s.v_channels) +
             n * (s.qk_channels + s.v_channels) + results;
    case AttendForm::kAbsorbedKeys:
      return n * 2 * s.kv_channels + results;
    case AttendForm::kAbsorbedQueries:
      break;
  }
  return m * (s.kv_channels + s.q_channels + s.results + s.outputs) + results;
}

// The same of all others, with the normalised array of keys.
int64_t held_elsewhere(const Part& part, const ModelSummary& s) {
  const AttentionCase& a = *part.attention;
  const int64_t channels = a.heads * (a.qk_channels + a.v_channels);
  const int64_t attention = (a.keys + a.queries) * channels;
  const ArraySize latents = s.latents.value_or(s.inputs);
  if (part.name.starts_with("encoder.cross_attend")) return 2 * values(s.inputs) + attention;
  if (!is_of_decoder(part)) return 3 * values(latents) + attention;
  return values(latents) + attention + 3 * a.queries * (s.queries ? s.queries->channels : 0);
}

int64_t& stage_of(const Part& part, MemoryPlan& plan) {
  if (part.name.starts_with("encoder.cross_attend")) return plan.encode;
  return is_of_decoder(part) ? plan.decode : plan.process;
}

// Values of all outputs: where the attend's form has the head in it, those of the head.
int64_t output_values(const ModelSummary& s) {
  for (const Part& part : s.parts) {
    if (is_of_decoder(part) && part.shape && part.shape->narrowed) {
      return s.outputs.index * part.shape->outputs;
    }
  }
  return values(s.outputs);
}

}  // namespace

int64_t MemoryPlan::of_pass() const {
  return packed + packing + inputs + std::max({encode, process, decode});
}

int64_t MemoryPlan::peak() const { return program + weights + of_pass(); }

MemoryPlan plan_memory(const ModelSummary& s, AttendPlace place, int64_t slice) {
  place.mode.gradients = place.mode.autocast = false;
  const auto bytes = static_cast<int64_t>(at::elementSize(place.dtype));
  const bool on_cpu = place.device.is_cpu();
  const int64_t of_example = place.batch * bytes;
  MemoryPlan plan{.program = on_cpu ? kProgram : 0,
                  .weights = s.parameters() * bytes,
                  .decode = output_values(s) * of_example};
  for (Part part : s.parts) {
    if (!part.attention) continue;
    if (is_of_decoder(part)) part.attention->queries = std::min(slice, part.attention->queries);
    const AttendPlan attend = plan_attend(part, place);
    const bool packs = on_cpu && attend.way == AttendWay::kInference;
    const int64_t all = is_of_decoder(part) ? output_values(s) : 0;
    const int64_t held = packs ? held_on_cpu(attend, *part.shape) : held_elsewhere(part, s);
    int64_t& stage = stage_of(part, plan);
    stage = std::max(stage, (all + held) * of_example + scores_held(attend) * bytes);
    if (!packs) continue;
    // Products of weights are formed in float64, and rounded to float32 before they are packed.
    constexpr int64_t kWide = 8 + 4;
    plan.packed += part.parameters * bytes;
    plan.packing = std::max(plan.packing, part.parameters * kWide);
    plan.inputs = s.input_values() * of_example;
  }
  return plan;
}

}  // namespace perceiver
