#include "perceiver/model/summary.h"

namespace perceiver {

double compression(const ArraySize& inputs, const ArraySize& latents) {
  const auto values = [](const ArraySize& a) {
    return static_cast<double>(a.index) * static_cast<double>(a.channels);
  };
  return values(inputs) / values(latents);
}

AttendPlan plan_attend(const Part& part, const AttendPlace& place) {
  AttentionCase c = part.attention.value();
  c.device = place.device, c.dtype = place.dtype, c.batch = place.batch;
  return plan_attend(part.shape, c, place.mode);
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

int64_t ModelSummary::input_values() const {
  return made_inputs > 0 ? made_inputs : inputs.index * inputs.channels;
}

}  // namespace perceiver
