// numpy's files: .npy is an array, .npz a zip of arrays by name.
#pragma once

#include <filesystem>
#include <string>

#include "perceiver/core/file.h"
#include "perceiver/weights/bytes.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// The array looks at the mapped file: what is not touched is not read.
Tensor read_npy(const std::filesystem::path& path);
Tensor decode_npy(const Bytes& file);

// What is packed, or not aligned (numpy does not care to), is copied.
TensorMap read_npz(const std::filesystem::path& path);
TensorMap decode_npz(const Bytes& file);

// As numpy.save() and numpy.savez() write them; tensors from any device.
std::string encode_npy(const Tensor& tensor);
std::string encode_npz(const NamedTensors& tensors);

}  // namespace perceiver
