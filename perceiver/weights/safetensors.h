// safetensors files: 8 bytes with the length of a JSON header, the header, the tensors' bytes.
//
// The reader is strict: every number of the header is checked before it is used, tensors must
// follow each other without holes or overlaps, and nothing may come after them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "perceiver/core/file.h"
#include "perceiver/weights/bytes.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

using Metadata = std::map<std::string, std::string>;

struct Safetensors {
  TensorMap tensors;
  Metadata metadata;
};

// Tensors look at the mapped file; only those the file does not align are copied.
Safetensors read_safetensors(const std::filesystem::path& path);
Safetensors decode_safetensors(File file);
Safetensors decode_safetensors(const Bytes& file);

// Tensors in the order given, from any device. transformers wants {"format": "pt"} as metadata.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const Metadata& metadata = {});
std::string encode_safetensors(const NamedTensors& tensors, const Metadata& metadata = {});

// "BF16" for at::kBFloat16, as the header spells it; fails for a dtype that cannot be written.
std::string_view safetensors_dtype(at::ScalarType dtype);

}  // namespace perceiver
