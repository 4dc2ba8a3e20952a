#include "perceiver/tasks/optical_flow/raft_upsample.h"

#include <ATen/ATen.h>

namespace perceiver {

Tensor convex_upsample(const Tensor& coarse, const Tensor& scores, int64_t factor) {
  const int64_t batch = coarse.size(0), height = coarse.size(2), width = coarse.size(3);
  const Tensor weights = scores.view({batch, 1, 9, factor, factor, height, width}).softmax(2);
  const Tensor neighbours =
      at::im2col(coarse * factor, {3, 3}, /*dilation=*/{1, 1}, /*padding=*/{1, 1},
                 /*stride=*/{1, 1})
          .view({batch, 2, 9, 1, 1, height, width});
  const Tensor flow = (weights * neighbours).sum(2);  // [B, 2, factor, factor, H, W]
  return flow.permute({0, 1, 4, 2, 5, 3}).reshape({batch, 2, height * factor, width * factor});
}

RaftUpsampleImpl::RaftUpsampleImpl(int64_t channels, int64_t factor)
    : factor_(factor),
      flow_(register_module("flow", Linear(channels, 2, LinearInit::kZeros))),
      // RAFT's mask head, twice as wide inside as its input.
      mask_hidden_(register_module(
          "mask_hidden",
          Conv2d(Conv2dImpl::Shape{.in = channels, .out = 2 * channels, .size = 3}))),
      mask_(register_module(
          "mask",
          Conv2d(Conv2dImpl::Shape{.in = 2 * channels, .out = 9 * factor * factor, .size = 1}))) {}

Tensor RaftUpsampleImpl::forward(const Tensor& features, double scale) {
  const Tensor coarse = flow_(features.permute({0, 2, 3, 1})).permute({0, 3, 1, 2}) * scale;
  const Tensor hidden = at::relu(mask_hidden_(at::constant_pad_nd(features, {1, 1, 1, 1})));
  return convex_upsample(coarse, mask_(hidden) * 0.25, factor_);  // RAFT's: balances gradients
}

std::vector<Part> RaftUpsampleImpl::parts(int64_t coarse_pixels) const {
  return {
      {.name = "flow", .parameters = num_parameters(*flow_), .flops = flow_->flops(coarse_pixels)},
      {.name = "mask",
       .parameters = num_parameters(*mask_hidden_) + num_parameters(*mask_),
       .flops = mask_hidden_->flops(coarse_pixels) + mask_->flops(coarse_pixels)}};
}

}  // namespace perceiver
