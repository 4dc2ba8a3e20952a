// What our tensors are called, and how they lie, in the two references' checkpoints
// (Hugging Face's state dicts, haiku's modules).
#pragma once

#include <optional>
#include <string>

#include "perceiver/core/tensor.h"

namespace perceiver {

// How a tensor of ours lies in a foreign file.
enum class Layout {
  kSame,
  kTransposed,     // [out, in] as [in, out]: haiku's linear layers
  kRow,            // [C] as [1, C]: Hugging Face's paddings and mask tokens
  kPointwise,      // [out, in] as [out, in, 1, 1]: Hugging Face's 1x1 convolution
  kPointwiseHwio,  // [out, in] as [1, 1, in, out]: haiku's
  kHwio,           // [out, in, h, w] as [h, w, in, out]: haiku's convolutions
  kReversed,       // [out, in, w, h] as [h, w, in, out]: the same, with the kernel's axes swapped
  kSwappedKernel,  // [out, in, h, w] as [out, in, w, h]: Hugging Face's conversion did this
  kChannelsLast,   // [C] as [1, 1, 1, C]: haiku's batch norm
};
Tensor from_layout(const Tensor& theirs, Layout layout);
Tensor to_layout(const Tensor& ours, Layout layout);

struct ForeignName {
  std::string name;  // haiku: module and parameter, "embed:embeddings"
  Layout layout = Layout::kSame;
  bool state = false;     // haiku: among the running averages, not the parameters
  bool optional = false;  // may be absent from a file
};

// Empty for a tensor that the reference's model of this task does not have. `deepmind_kernel`: the
// model convolves as DeepMind's code does, with the kernel whose axes Hugging Face's file swaps.
std::optional<ForeignName> hugging_face_name(const std::string& task, const std::string& ours,
                                             bool deepmind_kernel);

std::optional<ForeignName> haiku_name(const std::string& task, const std::string& ours,
                                      bool deepmind_kernel);

}  // namespace perceiver
