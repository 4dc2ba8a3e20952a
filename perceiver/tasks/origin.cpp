#include "perceiver/tasks/origin.h"

#include <fmt/ranges.h>

#include <vector>

namespace perceiver {
namespace {

std::string trained_text(const Origin& origin) {
  const std::string from = origin.began_as.empty() ? "" : "from " + origin.began_as;
  if (origin.name.empty()) return from.empty() ? "trained here" : "new model, weights " + from;
  std::vector<std::string> facts = {"run " + origin.name};
  if (origin.steps > 0) facts.push_back(fmt::format("{} steps", origin.steps));
  if (!from.empty()) facts.push_back(from);
  return fmt::format("trained here ({})", fmt::join(facts, ", "));
}

}  // namespace

std::string to_string(const Origin& origin) {
  switch (origin.weights) {
    case WeightsFrom::kRandom:
      return "new model, random weights";
    case WeightsFrom::kTrained:
      return trained_text(origin);
    case WeightsFrom::kShipped:
      return "shipped small model trained by this project, not DeepMind's weights";
    case WeightsFrom::kDeepMind:
      return "weights from DeepMind";
    case WeightsFrom::kHuggingFace:
      return "weights from Hugging Face";
    case WeightsFrom::kUnknown:
      break;
  }
  return "weights of unknown origin";
}

}  // namespace perceiver
