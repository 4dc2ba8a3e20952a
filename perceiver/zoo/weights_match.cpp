#include "perceiver/zoo/weights_match.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "perceiver/nn/module_tensors.h"
#include "perceiver/weights/bytes.h"
#include "perceiver/zoo/hugging_face.h"

namespace perceiver {

bool deepmind_kernel(const Settings& settings) {
  const Semantics* semantics = settings.semantics();
  return semantics == nullptr || semantics->conv_padding == ConvPadding::kSame;
}

NameOf haiku_names(const Settings& settings) {
  return [task = settings.task(), kernel = deepmind_kernel(settings)](const std::string& ours) {
    return haiku_name(task, ours, kernel);
  };
}

NameOf folder_names(const Settings& settings, std::optional<bool> kernel_in_file) {
  if (transformers_class(settings).empty()) {
    // A file of ours has the kernel of the semantics that it was written with.
    const bool kernel = deepmind_kernel(settings);
    const bool swaps = settings.task() == "imagenet" && kernel != kernel_in_file.value_or(kernel);
    return [swaps](const std::string& ours) {
      const bool swapped = swaps && ours == "conv_stage.conv.weight";
      return ForeignName{ours, swapped ? Layout::kSwappedKernel : Layout::kSame};
    };
  }
  return [task = settings.task(), kernel = deepmind_kernel(settings)](const std::string& ours) {
    return hugging_face_name(task, ours, kernel);
  };
}

TensorMap haiku_tensors(const HaikuCheckpoint& checkpoint) {
  TensorMap flat;
  for (const auto& [module, parameters] : checkpoint.params) {
    for (const auto& [name, tensor] : parameters) flat[fmt::format("{}:{}", module, name)] = tensor;
  }
  for (const auto& [module, averages] : checkpoint.state) {
    for (const auto& [name, tensor] : averages) {
      const bool counter = name == "counter" && module.ends_with("mean_ema");
      if (name == "average" || counter) flat[fmt::format("{}:{}", module, name)] = tensor;
    }
  }
  return flat;
}

std::string to_string(const WeightsProblem& problem) {
  const std::string name = printable(problem.tensor);
  switch (problem.kind) {
    case WeightsProblem::Kind::kNoPlace:
      return fmt::format("the format has no place for '{}'", name);
    case WeightsProblem::Kind::kMissing:
      return fmt::format("tensor '{}' is missing", name);
    case WeightsProblem::Kind::kWrongShape:
      return fmt::format("tensor '{}' has shape {}, expected {}", name, to_string(problem.shape),
                         to_string(problem.expected));
    case WeightsProblem::Kind::kSuperfluous:
      return fmt::format("tensor '{}' is not one of this model's", name);
  }
  return "";
}

WeightsMatch match_weights(const torch::nn::Module& module, const TensorMap& weights,
                           const NameOf& name_of) {
  using Kind = WeightsProblem::Kind;
  WeightsMatch match;
  std::set<std::string> used;
  for (const auto& [ours, tensor] : module_tensors(module)) {
    const std::optional<ForeignName> foreign = name_of(ours);
    if (!foreign) {
      match.problems.push_back({Kind::kNoPlace, ours});
      continue;
    }
    used.insert(foreign->name);
    const auto found = weights.find(foreign->name);
    if (found == weights.end()) {
      if (!foreign->optional) match.problems.push_back({Kind::kMissing, foreign->name});
      match.pairs.emplace_back(tensor, at::zeros({}));
      continue;
    }
    const Tensor theirs = from_layout(found->second, foreign->layout);
    if (theirs.sizes() != tensor.sizes()) {
      match.problems.push_back({Kind::kWrongShape, foreign->name, found->second.sizes().vec(),
                                to_layout(tensor, foreign->layout).sizes().vec()});
    }
    match.pairs.emplace_back(tensor, theirs);
  }
  for (const auto& [name, tensor] : weights) {
    if (!used.contains(name)) match.problems.push_back({Kind::kSuperfluous, name});
  }
  return match;
}

void check_counts(const Settings& settings, const TensorMap& weights) {
  const int64_t tensors = static_cast<int64_t>(weights.size());
  int64_t largest = 0;
  for (const auto& [name, tensor] : weights) largest = std::max(largest, tensor.numel());
  if (settings.num_layers() > tensors) {
    fail("{}: {} self-attends a block, more than the file has tensors ({})", settings.source(),
         settings.num_layers(), tensors);
  }
  if (settings.num_classes() > largest) {
    fail("{}: {} classes, more than the file's largest tensor has numbers ({})", settings.source(),
         settings.num_classes(), largest);
  }
}

}  // namespace perceiver
