#include "cli/classes.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace perceiver {

nlohmann::ordered_json likeliest_classes(const Model& model, const Tensor& probabilities,
                                         int64_t top) {
  const auto [values, indices] = probabilities.topk(std::min(top, probabilities.size(0)));
  auto classes = nlohmann::ordered_json::array();
  for (int64_t i = 0; i < values.size(0); ++i) {
    const int64_t index = indices[i].item<int64_t>();
    classes.push_back({{"index", index},
                       {"name", label(model, index)},
                       {"probability", values[i].item<double>()}});
  }
  return classes;
}

}  // namespace perceiver
