// Which model it is, in 64 bits: latents mean something to the model that made them alone.
#pragma once

#include "perceiver/zoo/model.h"

namespace perceiver {

// 16 hexadecimal digits over the settings that are not the defaults and the names, shapes and
// values of all weights, on any device. Taken before a model is converted to the dtype it runs in:
// rounded weights are others.
std::string fingerprint(const Model& model);

}  // namespace perceiver
