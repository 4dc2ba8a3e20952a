// A model as its reference is called: inputs and outputs with that reference's names and layouts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "perceiver/weights/tensor_map.h"
#include "perceiver/zoo/model.h"

namespace perceiver {

// A forward pass that is ready to run, again and again -> its outputs by name. Lives no longer than
// the model.
using ReferencePass = std::function<TensorMap()>;

// Inputs are checked, and put where the model's weights are, once.
ReferencePass reference_pass(Model& model, const TensorMap& inputs,
                             const std::vector<std::string>& wanted = {});

// `inputs` by name ("ids", "pixels", "images" …) -> outputs by name ("logits", "flow" …): those in
// `wanted`, or the model's own where it is empty. A name the model does not know is an error.
TensorMap run_reference(Model& model, const TensorMap& inputs,
                        const std::vector<std::string>& wanted = {});

}  // namespace perceiver
