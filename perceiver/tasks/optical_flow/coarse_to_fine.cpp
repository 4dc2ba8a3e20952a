#include "perceiver/tasks/optical_flow/coarse_to_fine.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/tasks/optical_flow/measures.h"

namespace perceiver {
namespace {

// Smaller pictures have nothing left to see.
constexpr int64_t kShortestSide = 16;

// Pixels along a side of what is compared around each: fewer, and noise decides; more, and what is
// right on one side of an edge is taken for the other one too.
constexpr int64_t kAround = 9;

// frames uint8 [2, 3, H, W], made small without aliasing
Tensor resized_frames(const Tensor& frames, ImageSize size) {
  if (frames.size(2) == size.height && frames.size(3) == size.width) return frames;
  return at::stack({resize_bilinear_pillow(frames[0].contiguous(), size),
                    resize_bilinear_pillow(frames[1].contiguous(), size)});
}

// The better one of each pixel.
Tensor chosen(const Tensor& frames, const Tensor& one, const Tensor& other) {
  const Tensor first_is_better =
      disagreement(frames[0], frames[1], one) <= disagreement(frames[0], frames[1], other);
  return at::where(first_is_better, one, other);
}

}  // namespace

std::vector<ImageSize> sizes_of_levels(ImageSize frames, int64_t levels) {
  std::vector<ImageSize> sizes = {frames};
  while (std::ssize(sizes) < levels) {
    const ImageSize half{(sizes.back().height + 1) / 2, (sizes.back().width + 1) / 2};
    if (std::min(half.height, half.width) < kShortestSide) break;
    sizes.push_back(half);
  }
  std::ranges::reverse(sizes);
  return sizes;
}

Tensor resized_flow(const Tensor& flow, ImageSize size) {
  const Tensor at_size = at::upsample_bilinear2d(flow.unsqueeze(0), {size.height, size.width},
                                                 /*align_corners=*/false)[0];
  const auto grows = [&](int64_t now, int64_t dim) {
    return static_cast<double>(now) / static_cast<double>(flow.size(dim));
  };
  return at::stack({at_size[0] * grows(size.width, 2), at_size[1] * grows(size.height, 1)});
}

Tensor warped(const Tensor& pixels, const Tensor& flow) {
  const int64_t height = pixels.size(1), width = pixels.size(2);
  const Tensor x = at::arange(width, at::kDouble);
  const Tensor y = at::arange(height, at::kDouble).unsqueeze(1);
  // Of what is no number nothing is known.
  const Tensor known = flow.to(at::kDouble).nan_to_num(0.0, 0.0, 0.0);
  const Tensor inside =
      at::stack({(known[0] + x).clamp(0, width - 1) - x, (known[1] + y).clamp(0, height - 1) - y});
  return follow(pixels, inside).first.round().to(at::kByte);
}

Tensor disagreement(const Tensor& first, const Tensor& second, const Tensor& flow) {
  const Tensor there = warped(second, flow).to(at::kFloat);
  const Tensor apart = (first.to(at::kFloat) - there).abs().mean(0, /*keepdim=*/true);
  return at::avg_pool2d(apart, kAround, /*stride=*/1, kAround / 2, /*ceil_mode=*/false,
                        /*count_include_pad=*/false)[0];
}

Tensor coarse_to_fine(const Tensor& frames, int64_t levels, const FindFlow& find) {
  Tensor flow;
  for (const ImageSize& size : sizes_of_levels({frames.size(2), frames.size(3)}, levels)) {
    const Tensor at_size = resized_frames(frames, size);
    const Tensor without_help = find(at_size);
    if (!flow.defined()) {
      flow = without_help;
      continue;
    }
    const Tensor known = resized_flow(flow, size);
    const Tensor refined = known + find(at::stack({at_size[0], warped(at_size[1], known)}));
    flow = chosen(at_size, refined, without_help);
  }
  return flow;
}

Tensor coarse_to_fine(OpticalFlowImpl& model, const Tensor& frames, const Tiling& tiling,
                      int64_t levels) {
  return coarse_to_fine(frames, levels,
                        [&](const Tensor& some) { return tiled_flow(model, some, tiling); });
}

}  // namespace perceiver
