// Files of optical flow: Middlebury's .flo and KITTI's 16-bit PNG.
#pragma once

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

struct FlowField {
  Tensor flow;   // float [2, H, W], in pixels: horizontal, vertical
  Tensor valid;  // bool [H, W]: where the flow is known
};

// By the first bytes. In a .flo, a pixel of 1e9 or more in size is unknown. Where the flow is not
// known, it reads 0.
FlowField decode_flow(const File& file);

std::string encode_flo(const Tensor& flow);             // float [2, H, W]
std::string encode_kitti_flow(const FlowField& field);  // steps of 1/64 px, at most 512 px

}  // namespace perceiver
