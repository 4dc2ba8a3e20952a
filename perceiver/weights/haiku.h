// DeepMind's checkpoints (.pystate, .pickle): a pickle of haiku's nested mappings of numpy arrays.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "perceiver/weights/bytes.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// Module path ("perceiver_encoder/~/cross_attention/attention/linear") -> parameter ("w") ->
// tensor.
using HaikuModules = std::map<std::string, TensorMap>;

struct HaikuCheckpoint {
  HaikuModules params;
  HaikuModules state;  // running averages of the convolutional model; empty for the others
};

// The file is the parameters themselves, or {"params": ..., "state": ...}.
HaikuCheckpoint read_haiku(const std::filesystem::path& path);
HaikuCheckpoint decode_haiku(File file);
HaikuCheckpoint decode_haiku(const Bytes& file);

}  // namespace perceiver
