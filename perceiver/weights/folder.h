// The files of a model folder, as Hugging Face lays them out.
#pragma once

#include <filesystem>

#include "perceiver/core/file.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// The first there is of model.safetensors, model.safetensors.index.json, pytorch_model.bin,
// pytorch_model.bin.index.json.
TensorMap read_folder_weights(const std::filesystem::path& folder);

// The path read_folder_weights() reads; fails with what was looked for when there is none.
std::filesystem::path find_folder_weights(const std::filesystem::path& folder);

// A config of a model. Fails for what is no plain file, as a pipe or a device, and for what is too
// large to be a config.
File read_model_config(const std::filesystem::path& path);

}  // namespace perceiver
