#include "perceiver/modalities/video.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

TEST(VideoPatches, AreInTheOrderFrameRowColumnColour) {
  const VideoPatch patch{.frames = 2, .height = 3, .width = 4};
  const int64_t grid_t = 2, grid_h = 2, grid_w = 3;
  const Tensor video = at::randn({2, grid_t * 2, 3, grid_h * 3, grid_w * 4});
  const Tensor patches = video_to_patches(video, patch);
  ASSERT_EQ(patches.sizes(), (std::vector<int64_t>{2, grid_t * grid_h * grid_w, 2 * 3 * 4 * 3}));

  const auto from = video.accessor<float, 5>();
  const auto to = patches.accessor<float, 3>();
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t t = 0; t < video.size(1); ++t) {
      for (int64_t c = 0; c < 3; ++c) {
        for (int64_t y = 0; y < video.size(3); ++y) {
          for (int64_t x = 0; x < video.size(4); ++x) {
            const int64_t element = (t / 2 * grid_h + y / 3) * grid_w + x / 4;
            const int64_t channel = ((t % 2 * 3 + y % 3) * 4 + x % 4) * 3 + c;
            ASSERT_EQ(to[b][element][channel], from[b][t][c][y][x]);
          }
        }
      }
    }
  }
}

TEST(VideoPatches, BackToVideoIsTheSameVideo) {
  const Tensor video = at::randn({2, 4, 3, 16, 24});
  for (const VideoPatch patch : {VideoPatch{1, 4, 4}, VideoPatch{2, 8, 8}, VideoPatch{4, 1, 3}}) {
    const Tensor patches = video_to_patches(video, patch);
    EXPECT_TRUE(patches_to_video(patches, {4, 16, 24}, patch).equal(video));
  }
}

TEST(VideoPatches, GridsAreThePapers) {
  EXPECT_EQ(c10::multiply_integers(patch_grid({16, 224, 224}, {1, 4, 4})), 50'176);
  EXPECT_EQ(c10::multiply_integers(patch_grid({32, 224, 224}, {2, 8, 8})), 12'544);
}

TEST(VideoPatches, SizesThatDoNotDivideAreAnError) {
  EXPECT_EQ(error_of([] {
              video_to_patches(at::zeros({1, 3, 3, 8, 12}), {2, 4, 4});
            }),
            "patch (2 x 4 x 4) must divide the video's frames, height and width (3 x 8 x 12)");
  EXPECT_EQ(error_of([] {
              video_to_patches(at::zeros({3, 3, 8, 12}), {1, 4, 4});
            }),
            "video has shape [3, 3, 8, 12], expected [*, *, *, *, *]");
  EXPECT_EQ(error_of([] {
              patches_to_video(at::zeros({1, 5, 48}), {1, 8, 8}, {1, 4, 4});
            }),
            "patches has shape [1, 5, 48], expected [*, 4, *]");
  EXPECT_EQ(error_of([] {
              patches_to_video(at::zeros({1, 4, 50}), {1, 8, 8}, {1, 4, 4});
            }),
            "patches has shape [1, 4, 50], expected [*, *, 48]");
}

}  // namespace
}  // namespace perceiver
