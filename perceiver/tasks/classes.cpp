#include "perceiver/tasks/classes.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace perceiver {

std::vector<RankedClass> likeliest_classes(const Tensor& probabilities,
                                           const std::vector<std::string>& labels, int64_t top) {
  const auto [values, indices] = probabilities.topk(std::min(top, probabilities.size(0)));
  std::vector<RankedClass> classes;
  for (int64_t i = 0; i < values.size(0); ++i) {
    const int64_t index = indices[i].item<int64_t>();
    const bool named = index < std::ssize(labels);
    classes.push_back(
        {index, named ? labels[index] : fmt::format("class {}", index), values[i].item<double>()});
  }
  return classes;
}

nlohmann::ordered_json to_json(const std::vector<RankedClass>& classes) {
  auto list = nlohmann::ordered_json::array();
  for (const RankedClass& one : classes) {
    list.push_back({{"index", one.index}, {"name", one.name}, {"probability", one.probability}});
  }
  return list;
}

}  // namespace perceiver
