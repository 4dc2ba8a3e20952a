#include "perceiver/tasks/audioset/views.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/media/clip.h"

namespace perceiver {
namespace {

constexpr int64_t kMaxViews = 16;

// What sounds may be on any channel: the mean of them all.
ClipFormat format_of(const AudioSetConfig& c) {
  return {.image_size = c.image_size,
          .samples_per_second = c.num_samples * kFramesPerSecond / c.num_frames,
          .first_channel = false,
          .frames_per_second = kFramesPerSecond};
}

struct FramePart {
  int64_t first, count;
};

FramePart frames_of(const File& file, const ClipReader& clip, const AudioSetConfig& config,
                    const ClipPart& part) {
  // What a container says may be wrong: where frames are seen they are counted.
  const int64_t all = config.video && clip.has_picture() ? count_frames(file, format_of(config))
                                                         : clip.expected_frames();
  if (all == 0) fail("{}: has no frames", file.name);
  const auto frame_at = [](double seconds) {
    return static_cast<int64_t>(std::llround(seconds * kFramesPerSecond));
  };
  const int64_t first = frame_at(part.from);
  const int64_t end = part.to > 0.0 ? std::min(frame_at(part.to), all) : all;
  if (first >= end) {
    fail("{}: has {:.2f} seconds, expected its part from second {} on", file.name,
         static_cast<double>(all) / kFramesPerSecond, part.from);
  }
  return {first, end - first};
}

// -> uint8 [views, T, 3, H, W]
Tensor read_frames(ClipReader& clip, const FramePart& part, const std::vector<int64_t>& starts,
                   const AudioSetConfig& config) {
  const int64_t size = config.image_size, views = std::ssize(starts);
  const Tensor video = at::empty({views, config.num_frames, 3, size, size}, at::kByte);
  for (int64_t i = 0; i < part.first; ++i) clip.skip_frame();
  const auto is_seen = [&](int64_t frame) {
    return std::any_of(starts.begin(), starts.end(), [&](int64_t start) {
      return start <= frame && frame < start + config.num_frames;
    });
  };
  for (int64_t frame = 0; frame < part.count; ++frame) {
    if (!is_seen(frame)) {
      clip.skip_frame();
      continue;
    }
    const std::optional<Tensor> picture = clip.next_frame();
    for (int64_t v = 0; v < views; ++v) {
      const int64_t at = frame - starts[v];
      if (at < 0 || at >= config.num_frames) continue;
      // The part's last frame also stands for those that would come after it.
      const int64_t copies = frame == part.count - 1 ? config.num_frames - at : 1;
      video[v].narrow(0, at, copies).copy_(*picture);
    }
  }
  return video;
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

ClipViews read_views(const File& file, const AudioSetConfig& config, const ClipPart& part,
                     const ViewStarts& starts_of) {
  const ClipFormat format = format_of(config);
  ClipReader clip(file, format);
  if (!clip.has_sound())
    fail("{}: has no sound, expected a clip with sound, or a sound", file.name);
  const FramePart frames = frames_of(file, clip, config, part);
  const std::vector<int64_t> starts = starts_of(frames.count, config.num_frames);

  ClipViews read{{}, at::zeros({std::ssize(starts), config.num_samples})};
  for (size_t v = 0; v < starts.size(); ++v) {
    // What follows the part is not heard.
    const int64_t left = (frames.count - starts[v]) * format.samples_per_second / kFramesPerSecond;
    const int64_t count = std::min(left, config.num_samples);
    read.samples[static_cast<int64_t>(v)]
        .narrow(0, 0, count)
        .copy_(clip.samples(frames.first + starts[v], count));
  }
  if (config.video) read.video = read_frames(clip, frames, starts, config);
  return read;
}

}  // namespace perceiver
