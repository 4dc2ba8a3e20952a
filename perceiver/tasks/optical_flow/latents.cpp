#include "perceiver/tasks/optical_flow/latents.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace perceiver {

Tensor encode_tiles(OpticalFlowImpl& model, const Tensor& frames) {
  const at::NoGradGuard no_grad;
  const FrameTiles tiles = cut_into_tiles(model.config(), frames, TilePlacement::kEven);
  const at::TensorOptions place = model.parameters().front().options();
  std::vector<Tensor> latents;
  for (int64_t i = 0; i < std::ssize(tiles.corners); ++i) {
    const Tensor values = tile_values(model.config(), tiles, i, i + 1, place);
    latents.push_back(model.encode_frames(values).to(at::kCPU, at::kFloat));
  }
  return at::cat(latents);
}

Tensor flow_at(OpticalFlowImpl& model, const Tensor& latents, const Tensor& frames,
               const Tensor& pixels) {
  const at::NoGradGuard no_grad;
  const OpticalFlowConfig& config = model.config();
  const FrameTiles tiles = cut_into_tiles(config, frames, TilePlacement::kEven);
  const at::TensorOptions place = model.parameters().front().options();
  const int64_t width = frames.size(3);
  const Tensor y = pixels.div(width, "floor") + tiles.frame.y;
  const Tensor x = pixels.remainder(width) + tiles.frame.x;
  const Tensor weights = tile_weights(config.height, config.width).flatten();
  Tensor sum = at::zeros({pixels.size(0), 2}, at::kDouble);
  Tensor total = at::zeros({pixels.size(0)}, at::kDouble);
  for (int64_t i = 0; i < std::ssize(tiles.corners); ++i) {
    const Tensor tile_y = y - tiles.corners[i].y, tile_x = x - tiles.corners[i].x;
    const Tensor inside = (tile_y >= 0)
                              .logical_and(tile_y < config.height)
                              .logical_and(tile_x >= 0)
                              .logical_and(tile_x < config.width)
                              .nonzero()
                              .squeeze(1);
    if (inside.numel() == 0) continue;
    const Tensor local = (tile_y * config.width + tile_x).index_select(0, inside);
    const Tensor flow = model.decode_at(latents.narrow(0, i, 1).to(place),
                                        tile_values(config, tiles, i, i + 1, place), local);
    const Tensor weight = weights.index_select(0, local);
    sum.index_add_(0, inside, flow[0].to(at::kCPU, at::kDouble) * weight.unsqueeze(1));
    total.index_add_(0, inside, weight);
  }
  return (sum / total.unsqueeze(1) * pixels_per_unit(config)).to(at::kFloat);
}

}  // namespace perceiver
