// The likeliest classes, as every command that names classes lists them.
#pragma once

#include <nlohmann/json.hpp>

#include "perceiver/core/tensor.h"
#include "perceiver/zoo/model.h"

namespace perceiver {

// probabilities [classes] -> the best `top`, the best first: an array of {index, name, probability}
nlohmann::ordered_json likeliest_classes(const Model& model, const Tensor& probabilities,
                                         int64_t top);

}  // namespace perceiver
