#include "perceiver/modalities/video.h"

#include <ATen/ATen.h>

#include "perceiver/core/count.h"

namespace perceiver {

std::vector<int64_t> patch_grid(at::IntArrayRef video, const VideoPatch& patch) {
  TORCH_INTERNAL_ASSERT(video.size() == 3);
  const int64_t t = video[0], h = video[1], w = video[2];
  check_pixels("num_frames, image_size", t, h, w);
  if (t % patch.frames != 0 || h % patch.height != 0 || w % patch.width != 0) {
    fail("patch ({} x {} x {}) must divide the video's frames, height and width ({} x {} x {})",
         patch.frames, patch.height, patch.width, t, h, w);
  }
  return {t / patch.frames, h / patch.height, w / patch.width};
}

Tensor video_to_patches(const Tensor& video, const VideoPatch& patch) {
  check_shape(video, {kAny, kAny, kAny, kAny, kAny}, "video");
  const auto grid = patch_grid({video.size(1), video.size(3), video.size(4)}, patch);
  const Tensor split = video.reshape({video.size(0), grid[0], patch.frames, video.size(2), grid[1],
                                      patch.height, grid[2], patch.width});
  // [B, T', H', W', frame, row, column, C]
  return split.permute({0, 1, 4, 6, 2, 5, 7, 3}).flatten(4).flatten(1, 3);
}

Tensor patches_to_video(const Tensor& patches, at::IntArrayRef video, const VideoPatch& patch) {
  const auto grid = patch_grid(video, patch);
  check_shape(patches, {kAny, c10::multiply_integers(grid), kAny}, "patches");
  const int64_t channels = patches.size(2) / patch.pixels();
  check_shape(patches, {kAny, kAny, channels * patch.pixels()}, "patches");
  const Tensor split = patches.reshape({patches.size(0), grid[0], grid[1], grid[2], patch.frames,
                                        patch.height, patch.width, channels});
  // [B, T', frame, C, H', row, W', column]
  return split.permute({0, 1, 4, 7, 2, 5, 3, 6})
      .reshape({patches.size(0), video[0], channels, video[1], video[2]});
}

}  // namespace perceiver
