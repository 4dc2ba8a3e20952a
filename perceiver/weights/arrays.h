// Arrays by name, from whatever holds some.
#pragma once

#include <filesystem>

#include "perceiver/core/file.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// Of an .npz, a .safetensors, an .npy, whose array is named as the file is, or a folder of .npy.
// Arrays look at mapped files where these allow it: all but packed and unaligned ones of an .npz.
TensorMap read_arrays(const std::filesystem::path& path);

// A file that is in memory, by the ending of its name.
TensorMap decode_arrays(File file);

// Whether read_arrays() takes it, by its name: "x.npz", or a folder.
bool holds_arrays(const std::filesystem::path& path);

// .npz or .safetensors, by the ending; tensors from any device.
void write_arrays(const std::filesystem::path& path, const NamedTensors& tensors);

}  // namespace perceiver
