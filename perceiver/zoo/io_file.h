// Arrays that go into a model and come out of it, as `perceiver run` reads and writes them: a
// safetensors file with "input.ids", "output.logits" and the like.
#pragma once

#include <filesystem>

#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// By the names behind the dot.
struct IoArrays {
  TensorMap inputs, outputs;
};
IoArrays read_io_file(const std::filesystem::path& path);

// Outputs from any device.
void write_outputs(const std::filesystem::path& path, const TensorMap& outputs);

}  // namespace perceiver
