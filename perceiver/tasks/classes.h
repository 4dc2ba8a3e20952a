// The likeliest classes with their names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

struct RankedClass {
  int64_t index;
  std::string name;  // or "class 17", where it has none
  double probability;
};

// probabilities [classes] -> the best `top`, the best first
std::vector<RankedClass> likeliest_classes(const Tensor& probabilities,
                                           const std::vector<std::string>& labels, int64_t top);

// An array of {index, name, probability}.
nlohmann::ordered_json to_json(const std::vector<RankedClass>& classes);

}  // namespace perceiver
