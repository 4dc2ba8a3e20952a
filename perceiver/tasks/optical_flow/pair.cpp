#include "perceiver/tasks/optical_flow/pair.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"
#include "perceiver/media/image.h"

namespace perceiver {

Tensor read_frames(std::span<const File> files) {
  if (files.size() != 2) fail("optical flow is of two frames, got {}", files.size());
  const Tensor first = decode_image(files[0]), second = decode_image(files[1]);
  if (first.sizes() != second.sizes()) {
    fail("{} is {} x {}, {} is {} x {}: the two must have one size", files[0].name, first.size(2),
         first.size(1), files[1].name, second.size(2), second.size(1));
  }
  return at::stack({first, second});
}

FlowPair reversed(const FlowPair& pair, const Tensor& hidden) {
  const int64_t height = pair.flow.size(1), width = pair.flow.size(2), pixels = height * width;
  const Tensor forward = pair.flow.contiguous(), valid = pair.valid.contiguous();
  const Tensor unseen = hidden.defined() ? hidden.contiguous() : at::zeros_like(valid);
  const auto* flow = forward.data_ptr<float>();
  const auto* known = valid.data_ptr<bool>();
  const auto* not_seen = unseen.data_ptr<bool>();
  Tensor back = at::zeros_like(forward), landed = at::zeros({height, width}, at::kFloat);
  auto* sum = back.data_ptr<float>();
  auto* count = landed.data_ptr<float>();
  int64_t i = 0;
  for (int64_t row = 0; row < height; ++row) {
    for (int64_t column = 0; column < width; ++column, ++i) {
      if (!known[i] || not_seen[i]) continue;
      const float u = flow[i], v = flow[pixels + i];
      const float x = static_cast<float>(column) + u + 0.5f, y = static_cast<float>(row) + v + 0.5f;
      const bool inside =
          x >= 0 && y >= 0 && x < static_cast<float>(width) && y < static_cast<float>(height);
      if (!inside) continue;
      const int64_t end = static_cast<int64_t>(y) * width + static_cast<int64_t>(x);
      sum[end] -= u, sum[pixels + end] -= v, count[end] += 1.0f;
    }
  }
  for (int64_t p = 0; p < pixels; ++p) {
    if (count[p] > 1.0f) sum[p] /= count[p], sum[pixels + p] /= count[p];
  }
  return {pair.frames.flip(0), back, landed.gt(0.0)};
}

}  // namespace perceiver
