// A model as its reference is called: inputs and outputs with that reference's names and layouts.
#pragma once

#include <string>
#include <vector>

#include "perceiver/weights/tensor_map.h"
#include "perceiver/zoo/model.h"

namespace perceiver {

// `inputs` by name ("ids", "pixels", "images" …) -> outputs by name ("logits", "flow" …): those in
// `wanted`, or the model's own where it is empty. A name the model does not know is an error.
TensorMap run_reference(Model& model, const TensorMap& inputs,
                        const std::vector<std::string>& wanted = {});

}  // namespace perceiver
