// The weights of a Hugging Face model folder.
#pragma once

#include <filesystem>

#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// The first there is of model.safetensors, model.safetensors.index.json, pytorch_model.bin,
// pytorch_model.bin.index.json.
TensorMap read_folder_weights(const std::filesystem::path& folder);

// The path read_folder_weights() reads; fails with what was looked for when there is none.
std::filesystem::path find_folder_weights(const std::filesystem::path& folder);

}  // namespace perceiver
