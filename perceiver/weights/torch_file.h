// torch.save() files (pytorch_model.bin): a zip of a pickle and of the storages it refers to.
#pragma once

#include <filesystem>

#include "perceiver/weights/bytes.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// A state_dict: names and tensors. Tensors look at the mapped file, and share storages as they did
// when they were saved.
TensorMap read_torch_file(const std::filesystem::path& path);
TensorMap decode_torch_file(File file);
TensorMap decode_torch_file(const Bytes& file);

}  // namespace perceiver
