#include "perceiver/tasks/audioset/views.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/media/clip.h"

namespace perceiver {
namespace {

constexpr int64_t kMaxViews = 16, kFramesPerSecond = 25;

// What sounds may be on any channel: the mean of them all.
ClipFormat format_of(const AudioSetConfig& c) {
  return {.image_size = c.image_size,
          .samples_per_second = c.num_samples * kFramesPerSecond / c.num_frames,
          .first_channel = false,
          .frames_per_second = kFramesPerSecond};
}

}  // namespace

std::vector<int64_t> view_starts(int64_t num_frames, int64_t view_frames) {
  const int64_t last = std::max(num_frames - view_frames, int64_t{0});
  const int64_t apart = std::max(view_frames / 4, int64_t{1});
  const int64_t steps = last == 0 ? 0 : std::clamp(last / apart, int64_t{1}, kMaxViews - 1);
  std::vector<int64_t> starts = {0};
  for (int64_t i = 1; i <= steps; ++i) starts.push_back(i * last / steps);
  return starts;
}

ClipViews read_views(const File& file, const AudioSetConfig& config) {
  const ClipFormat format = format_of(config);
  ClipReader clip(file, format);
  if (!clip.has_sound())
    fail("{}: has no sound, expected a clip with sound, or a sound", file.name);
  const int64_t num_frames = count_frames(file, format), size = config.image_size;
  if (num_frames == 0) fail("{}: has no frames", file.name);
  const std::vector<int64_t> starts = view_starts(num_frames, config.num_frames);
  const auto views = static_cast<int64_t>(starts.size());

  ClipViews read{at::empty({views, config.num_frames, 3, size, size}, at::kByte),
                 at::empty({views, config.num_samples})};
  for (int64_t v = 0; v < views; ++v) {
    read.samples[v].copy_(clip.samples(starts[v], config.num_samples));
  }
  const auto is_seen = [&](int64_t frame) {
    return std::any_of(starts.begin(), starts.end(), [&](int64_t start) {
      return start <= frame && frame < start + config.num_frames;
    });
  };
  for (int64_t frame = 0; frame < num_frames; ++frame) {
    if (!is_seen(frame)) {
      clip.skip_frame();
      continue;
    }
    const std::optional<Tensor> picture = clip.next_frame();
    for (int64_t v = 0; v < views; ++v) {
      const int64_t at = frame - starts[v];
      if (at < 0 || at >= config.num_frames) continue;
      // The clip's last frame also stands for those that would come after it.
      const int64_t copies = frame == num_frames - 1 ? config.num_frames - at : 1;
      read.video[v].narrow(0, at, copies).copy_(*picture);
    }
  }
  return read;
}

}  // namespace perceiver
