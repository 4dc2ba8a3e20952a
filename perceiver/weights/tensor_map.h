// Tensors with names: what every weights file holds.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

using TensorMap = std::map<std::string, Tensor>;

// The same with an order, which a file that is written keeps.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace perceiver
