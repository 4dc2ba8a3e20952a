#include "perceiver/model/training_flops.h"

#include <algorithm>
#include <string>
#include <vector>

namespace perceiver {
namespace {

struct Parameter {
  std::string name;  // between dots: ".encoder.latents."
  bool trained;
};

std::vector<Parameter> parameters_of(const torch::nn::Module& model) {
  std::vector<Parameter> parameters;
  for (const auto& item : model.named_parameters()) {
    parameters.push_back({"." + item.key() + ".", item.value().requires_grad()});
  }
  return parameters;
}

// A part is named after its module, but for a first word or two: "input.conv_stage" is the module
// conv_stage. One whose weights go by another name (logits, by a tied embedding) counts as trained.
bool is_trained(const Part& part, const std::vector<Parameter>& parameters) {
  if (part.parameters == 0) return false;
  for (std::string name = part.name;; name.erase(0, name.find('.') + 1)) {
    bool found = false, trained = false;
    for (const Parameter& p : parameters) {
      if (p.name.find("." + name + ".") == std::string::npos) continue;
      found = true, trained |= p.trained;
    }
    if (found) return trained;
    if (name.find('.') == std::string::npos) return true;
  }
}

// Of queries with keys, and of weights with values: products without weights of their own.
double attention_flops(const Part& part) {
  if (!part.attention) return 0.0;
  const AttentionCase& a = *part.attention;
  return 2.0 * static_cast<double>(part.times * a.heads) * static_cast<double>(a.queries) *
         static_cast<double>(a.keys) * static_cast<double>(a.qk_channels + a.v_channels);
}

}  // namespace

double training_flops(const ModelSummary& summary, const torch::nn::Module& model) {
  const std::vector<Parameter> parameters = parameters_of(model);
  double total = 0.0;
  bool gradients_flow = false;
  for (const Part& part : summary.parts) {
    const auto forward = static_cast<double>(part.flops);
    const bool trained = is_trained(part, parameters);
    gradients_flow |= trained;
    total += forward;
    if (trained) {
      total += 2.0 * forward;
    } else if (gradients_flow) {
      total += forward + attention_flops(part);
    }
  }
  return total;
}

}  // namespace perceiver
