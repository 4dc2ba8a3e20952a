// Weights spread over several files, with an index of which tensor is where:
// {"metadata": {"total_size": bytes}, "weight_map": {"tensor": "model-00001-of-00003.safetensors"}}
#pragma once

#include <filesystem>

#include "perceiver/weights/safetensors.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// The files named by the index, beside it: safetensors, or torch files if their name ends in .bin.
// Index and files must name the same tensors.
TensorMap read_sharded(const std::filesystem::path& index);

// As transformers splits above 5 GB by default.
constexpr int64_t kMaxShardBytes = 5'000'000'000;

// Writes model.safetensors, or, above max_shard_bytes, model-00001-of-0000N.safetensors and last
// model.safetensors.index.json; a model.safetensors from before is then removed, as it would be
// read first. A tensor larger than max_shard_bytes gets a file of its own.
void write_sharded(const std::filesystem::path& folder, const NamedTensors& tensors,
                   const Metadata& metadata = {}, int64_t max_shard_bytes = kMaxShardBytes);

}  // namespace perceiver
