// Arrays of several modalities in one (paper, Sec. 4.3): each is filled up to the same number of
// channels with a vector learned for its modality, then they stand one after another, in the
// order of their names. Inputs and queries alike.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "perceiver/nn/layers.h"

namespace perceiver {

// One array [B, M_i, C_i] a modality; a map, so the order is that of the names.
using Modalities = std::map<std::string, Tensor>;

class ModalityPaddingImpl : public torch::nn::Module {
 public:
  // Channels of each modality before padding. The widest still gets `min_padding`, so that every
  // modality has a mark of its own.
  ModalityPaddingImpl(const std::map<std::string, int64_t>& channels, int64_t min_padding);

  // [B, M_i, C_i] each -> [B, M_i, C] each
  Modalities forward(const Modalities& arrays);

  int64_t channels() const { return channels_; }
  const Tensor& padding(const std::string& name) const { return padding_.at(name); }

 private:
  int64_t channels_;
  std::map<std::string, Tensor> padding_;  // [C - C_i] each
};
TORCH_MODULE(ModalityPadding);

// Hides elements of padded arrays behind a vector learned for their modality.
class ModalityMaskImpl : public torch::nn::Module {
 public:
  ModalityMaskImpl(const std::vector<std::string>& modalities, int64_t channels);

  // `hidden` [B, M_i] bool (true: hide) for some of the modalities; the others stay as they are.
  Modalities forward(const Modalities& arrays, const Modalities& hidden);

 private:
  std::map<std::string, Tensor> tokens_;  // [C] each
};
TORCH_MODULE(ModalityMask);

// [B, M_i, C] each -> [B, sum of M_i, C]
Tensor pack(const Modalities& arrays);

// [B, sum of sizes, E] -> [B, sizes[i], E] each: the reverse of pack.
Modalities take_apart(const Tensor& outputs, const std::map<std::string, int64_t>& sizes);

}  // namespace perceiver
