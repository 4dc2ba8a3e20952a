// Latents in a file: what `perceiver encode` writes and `perceiver query` reads. A safetensors file
// with `latents` [T, N, D], one array for each part of the input, and what queries need beside
// them; what it is of stands in the metadata.
#pragma once

#include <filesystem>

#include "perceiver/weights/safetensors.h"

namespace perceiver {

struct LatentsFile {
  std::string task, model, fingerprint;  // of the model, and how it was called
  std::string input;                     // where it came from
  TensorMap arrays = {};                 // on the CPU
  // Numbers a reader of the file may want too: frame_size, tile_starts, num_frames …
  std::map<std::string, std::vector<int64_t>> geometry = {};
  std::string name = "the latents";  // for messages: where they were read from

  const Tensor& latents() const { return arrays.at("latents"); }
};

void write_latents(const std::filesystem::path& path, const LatentsFile& file);
std::string encode_latents(const LatentsFile& file);  // the bytes of such a file

// Fails for anything else than such a file.
LatentsFile read_latents(const std::filesystem::path& path);
LatentsFile decode_latents(File file);  // the same of bytes that are in memory

// An array that must be there, of these sizes and this dtype.
const Tensor& required_array(const LatentsFile& file, const std::string& name, at::ScalarType dtype,
                             std::initializer_list<int64_t> sizes);

}  // namespace perceiver
