// From coarse features to full-resolution flow, as RAFT does it (paper, App. H): each fine pixel's
// flow is a convex combination of the 3x3 coarse flows around it.
#pragma once

#include "perceiver/model/summary.h"
#include "perceiver/nn/layers.h"

namespace perceiver {

// coarse [B, 2, H, W] in coarse pixels, scores [B, 9 * factor^2, H, W] -> flow [B, 2, factor * H,
// factor * W] in fine pixels. Neighbours outside the picture count as zero flow.
Tensor convex_upsample(const Tensor& coarse, const Tensor& scores, int64_t factor);

class RaftUpsampleImpl : public torch::nn::Module {
 public:
  RaftUpsampleImpl(int64_t channels, int64_t factor);

  // features [B, channels, H, W], scale: coarse flow is what the layer puts out times this
  // -> flow [B, 2, factor * H, factor * W]
  Tensor forward(const Tensor& features, double scale);

  std::vector<Part> parts(int64_t coarse_pixels) const;

 private:
  int64_t factor_;
  Linear flow_{nullptr};
  Conv2d mask_hidden_{nullptr}, mask_{nullptr};
};
TORCH_MODULE(RaftUpsample);

}  // namespace perceiver
