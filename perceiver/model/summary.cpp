#include "perceiver/model/summary.h"

#include <algorithm>

namespace perceiver {

double compression(const ArraySize& inputs, const ArraySize& latents) {
  const auto values = [](const ArraySize& a) {
    return static_cast<double>(a.index) * static_cast<double>(a.channels);
  };
  return values(inputs) / values(latents);
}

AttentionChoice choose_attention(const Part& part, const AttentionCase& place) {
  AttentionCase c = part.attention.value();
  c.device = place.device, c.dtype = place.dtype;
  c.batch = place.batch, c.needs_grad = place.needs_grad;
  return choose_attention(c, part.inference);
}

int64_t ModelSummary::parameters() const {
  int64_t total = 0;
  for (const Part& part : parts) total += part.parameters;
  return total;
}

int64_t ModelSummary::flops() const {
  int64_t total = 0;
  for (const Part& part : parts) total += part.flops;
  return total;
}

void ModelSummary::add(std::string prefix, const std::vector<Part>& more) {
  for (Part part : more) {
    part.name = prefix + part.name;
    parts.push_back(std::move(part));
  }
}

int64_t MemoryPlan::peak() const { return weights + std::max({encode, process, decode}); }

MemoryPlan plan_memory(const ModelSummary& s, int64_t batch, int64_t bytes_per_value,
                       int64_t slice) {
  const auto values = [](const ArraySize& a) { return a.index * a.channels; };
  const ArraySize latents = s.latents.value_or(s.inputs);
  const int64_t outputs = values(s.outputs);
  MemoryPlan plan{.weights = s.parameters(), .encode = 0, .process = 0, .decode = outputs};
  for (const Part& part : s.parts) {
    if (!part.attention) continue;
    const AttentionCase& a = *part.attention;
    const int64_t keys_and_values = a.keys * a.heads * (a.qk_channels + a.v_channels);
    const auto queries_and_results = [&](int64_t queries) {
      return queries * a.heads * (a.qk_channels + a.v_channels);
    };
    if (part.name.starts_with("encoder.cross_attend")) {
      // The inputs, the same normalised, and what attention makes of them.
      plan.encode = 2 * values(s.inputs) + keys_and_values + queries_and_results(a.queries);
    } else if (part.name.starts_with("decoder")) {
      const int64_t queries = std::min(slice, a.queries);
      const int64_t query_channels = s.queries ? s.queries->channels : 0;
      plan.decode = outputs + values(latents) + keys_and_values + queries_and_results(queries) +
                    3 * queries * query_channels;
    } else {
      plan.process = std::max(
          plan.process, 3 * values(latents) + keys_and_values + queries_and_results(a.queries));
    }
  }
  plan.weights *= bytes_per_value;
  plan.encode *= batch * bytes_per_value;
  plan.process *= batch * bytes_per_value;
  plan.decode *= batch * bytes_per_value;
  return plan;
}

}  // namespace perceiver
