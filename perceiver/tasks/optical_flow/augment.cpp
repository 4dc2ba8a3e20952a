#include "perceiver/tasks/optical_flow/augment.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace perceiver {
namespace {

FramePixels pixels_of(const Tensor& frame) {
  const int64_t pixels = frame.size(1) * frame.size(2);
  auto* data = frame.data_ptr<float>();
  return {data, data + pixels, data + 2 * pixels, pixels};
}

CropPlace random_place(ImageSize from, ImageSize crop, const FlowAugmentConfig& config,
                       double strength, Rng& rng) {
  double scale_y = 1.0, scale_x = 1.0;
  const bool resized = rng.chance(strength * config.resize_share);
  if (resized) {
    const double scale =
        std::exp2(strength * rng.uniform(config.smallest_scale, config.largest_scale));
    scale_y = scale_x = scale;
    if (rng.chance(config.stretch_share)) {
      scale_x *= std::exp2(strength * rng.uniform(-config.stretch, config.stretch));
      scale_y *= std::exp2(strength * rng.uniform(-config.stretch, config.stretch));
    }
  }
  // A resized pair keeps a pixel more than the crop, as RAFT's; one that is not must not be
  // smaller.
  const int64_t spare = resized ? 1 : 0;
  CropPlace place;
  const auto side = [&](int64_t size, double scale, int64_t least) {
    return std::max<int64_t>(std::lround(static_cast<double>(size) * scale), least + spare);
  };
  place.resized = {side(from.height, scale_y, crop.height), side(from.width, scale_x, crop.width)};
  place.flip = rng.chance(strength * config.flip_share);
  place.flip_vertically = rng.chance(strength * config.vertical_flip_share);
  place.top = rng.integer(place.resized.height - crop.height + 1);
  place.left = rng.integer(place.resized.width - crop.width + 1);
  return place;
}

// Where pixels of the crop lie along an axis of the pair: between two of its pixels.
struct Between {
  int64_t before, after;
  float share;  // of the latter
};

std::vector<Between> along(int64_t size, int64_t resized, int64_t first, int64_t count, bool flip) {
  std::vector<Between> places;
  const double step = static_cast<double>(size) / static_cast<double>(resized);
  for (int64_t i = first; i < first + count; ++i) {
    const int64_t at = flip ? resized - 1 - i : i;
    const double place = std::clamp((static_cast<double>(at) + 0.5) * step - 0.5, 0.0,
                                    static_cast<double>(size - 1));
    const auto before = static_cast<int64_t>(place);
    places.push_back({before, std::min(before + 1, size - 1),
                      static_cast<float>(place - static_cast<double>(before))});
  }
  return places;
}

float between(const float* plane, int64_t width, const Between& y, const Between& x) {
  const float *above = plane + y.before * width, *below = plane + y.after * width;
  const float high = above[x.before] + x.share * (above[x.after] - above[x.before]);
  const float low = below[x.before] + x.share * (below[x.after] - below[x.before]);
  return high + y.share * (low - high);
}

struct Places {
  std::vector<Between> rows, columns;
};

Tensor crop_frames(const Tensor& frames, const Places& places) {
  const int64_t width = frames.size(3), pixels = frames.size(2) * width;
  Tensor cropped = at::empty(
      {2, 3, static_cast<int64_t>(places.rows.size()), static_cast<int64_t>(places.columns.size())},
      at::kByte);
  const auto* plane = frames.data_ptr<float>();
  auto* to = cropped.data_ptr<uint8_t>();
  for (int i = 0; i < 6; ++i, plane += pixels) {
    for (const Between& y : places.rows) {
      for (const Between& x : places.columns) {
        *to++ = static_cast<uint8_t>(between(plane, width, y, x) + 0.5f);
      }
    }
  }
  return cropped;
}

// Without frames; vectors become grow_x and grow_y times as long.
FlowPair crop_flow(const FlowPair& pair, const Places& places, float grow_x, float grow_y) {
  const int64_t width = pair.flow.size(2), pixels = pair.flow.size(1) * width;
  const auto height_of = static_cast<int64_t>(places.rows.size());
  const auto width_of = static_cast<int64_t>(places.columns.size());
  FlowPair out{
      {}, at::empty({2, height_of, width_of}), at::empty({height_of, width_of}, at::kBool)};
  const Tensor whole = pair.flow.contiguous(), known = pair.valid.contiguous();
  const auto* flow = whole.data_ptr<float>();
  const auto* valid = known.data_ptr<bool>();
  auto* u = out.flow.data_ptr<float>();
  auto* v = u + height_of * width_of;
  auto* to_valid = out.valid.data_ptr<bool>();
  for (const Between& y : places.rows) {
    const bool *above = valid + y.before * width, *below = valid + y.after * width;
    for (const Between& x : places.columns) {
      const int64_t nearest =
          (y.share < 0.5f ? y.before : y.after) * width + (x.share < 0.5f ? x.before : x.after);
      const bool all = above[x.before] && above[x.after] && below[x.before] && below[x.after];
      *u++ = grow_x * (all ? between(flow, width, y, x) : flow[nearest]);
      *v++ = grow_y * (all ? between(flow + pixels, width, y, x) : flow[pixels + nearest]);
      *to_valid++ = valid[nearest];
    }
  }
  return out;
}

// A crop of the pair as it is.
FlowPair part_of(const FlowPair& pair, ImageSize crop, const CropPlace& place) {
  const auto part = [&](const Tensor& x) {
    return x.narrow(-2, place.top, crop.height).narrow(-1, place.left, crop.width);
  };
  return {part(pair.frames), part(pair.flow), part(pair.valid)};
}

}  // namespace

void erase(Tensor frame, const FlowAugmentConfig& config, Rng& rng) {
  const Tensor mean = frame.mean({1, 2}, /*keepdim=*/true);
  const int64_t height = frame.size(1), width = frame.size(2);
  const int64_t rectangles = 1 + rng.integer(2);
  for (int64_t i = 0; i < rectangles; ++i) {
    const int64_t top = rng.integer(height), left = rng.integer(width);
    const auto h = std::lround(rng.uniform(config.erase_smallest, config.erase_largest));
    const auto w = std::lround(rng.uniform(config.erase_smallest, config.erase_largest));
    frame.narrow(1, top, std::min<int64_t>(h, height - top))
        .narrow(2, left, std::min<int64_t>(w, width - left))
        .copy_(mean);
  }
}

FlowPair crop_of(const Tensor& frames, const FlowPair& pair, ImageSize crop,
                 const CropPlace& place) {
  const int64_t height = frames.size(2), width = frames.size(3);
  const Places places{
      along(height, place.resized.height, place.top, crop.height, place.flip_vertically),
      along(width, place.resized.width, place.left, crop.width, place.flip)};
  const auto grown = [](int64_t from, int64_t to, bool flip) {
    return (flip ? -1.0f : 1.0f) * static_cast<float>(to) / static_cast<float>(from);
  };
  FlowPair cropped = crop_flow(pair, places, grown(width, place.resized.width, place.flip),
                               grown(height, place.resized.height, place.flip_vertically));
  cropped.frames = crop_frames(frames, places);
  return cropped;
}

FlowPair augment(const FlowPair& pair, ImageSize crop, const FlowAugmentConfig& config,
                 double strength, Rng& rng) {
  const ImageSize from{pair.frames.size(2), pair.frames.size(3)};
  if (strength == 0.0 && from.height >= crop.height && from.width >= crop.width) {
    return part_of(pair, crop, random_place(from, crop, config, strength, rng));
  }
  const Tensor frames = pair.frames.to(at::kFloat).contiguous();
  if (strength > 0.0) {
    const FramePixels first = pixels_of(frames[0]), second = pixels_of(frames[1]);
    if (rng.chance(config.jitter.apart_share)) {
      jitter({first}, config.jitter, strength, rng);
      jitter({second}, config.jitter, strength, rng);
    } else {
      jitter({first, second}, config.jitter, strength, rng);
    }
    if (rng.chance(strength * config.erase_share)) erase(frames[1], config, rng);
  }
  return crop_of(frames, pair, crop, random_place(from, crop, config, strength, rng));
}

}  // namespace perceiver
