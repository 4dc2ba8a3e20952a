// Models as the Open Inference Protocol sees them: arrays in, arrays out, by the names and in the
// layouts of their reference (zoo/reference_io.h).
#pragma once

#include <optional>

#include "perceiver/serve/oip.h"
#include "perceiver/serve/served_model.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// Nothing for a model that has no reference.
std::optional<OipModel> oip_model(const ServedModel& served);

// The inputs as tensors. Refuses, with 400, what the model does not have, or of other sizes.
TensorMap tensors_of(const OipModel& model, const std::vector<OipTensor>& inputs);

// As FP32.
OipTensor oip_tensor(const std::string& name, const Tensor& tensor);

}  // namespace perceiver
