#include "perceiver/tasks/multimodal/data.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/modalities/audio.h"
#include "perceiver/modalities/video.h"

namespace perceiver {
namespace {

FrameRange range_of(const LabelledRow& row) {
  FrameRange range{.first = std::llround(row.start * kFramesPerSecond)};
  if (row.end > 0.0) {
    const int64_t end = std::llround(row.end * kFramesPerSecond);
    range.count = std::max<int64_t>(end - range.first, 1);
  }
  return range;
}

// The first of `taken` frames out of `all`.
int64_t first_frame(double place, int64_t all, int64_t taken) {
  const int64_t places = std::max<int64_t>(all - taken, 0) + 1;
  return std::min(static_cast<int64_t>(place * static_cast<double>(places)), places - 1);
}

void check_modalities(const ClipReader& clip, const std::string& name) {
  if (!clip.has_picture()) fail("{}: has no picture, expected a clip", name);
  if (!clip.has_sound()) fail("{}: has no sound, expected a clip with sound", name);
}

[[noreturn]] void fail_without_frames(const std::string& name, FrameRange range) {
  if (range.first == 0) fail("{}: has no frames", name);
  fail("{}: has ended before second {}, where its row begins", name,
       static_cast<double>(range.first) / kFramesPerSecond);
}

// Frames of the range, as the container says; 0: it does not.
int64_t claimed_frames(const ClipReader& clip, FrameRange range) {
  return std::clamp<int64_t>(clip.expected_frames() - range.first, 0, range.count);
}

}  // namespace

std::vector<ClassifiedClip> classified_clips(std::vector<LabelledRow> rows,
                                             const std::vector<std::string>& names) {
  const ClassNumbers numbers(names);
  std::vector<ClassifiedClip> clips;
  for (LabelledRow& row : rows) {
    ClassifiedClip clip{std::move(row)};
    if (clip.row.error.empty() && clip.row.labels.size() != 1) {
      clip.row.error =
          fmt::format("{}: has {} classes, expected one", clip.row.place, clip.row.labels.size());
    }
    if (clip.row.error.empty()) clip.label = numbers.of(clip.row)[0];
    clips.push_back(std::move(clip));
  }
  return clips;
}

ClipCache::ClipCache(MultimodalConfig model, double gib, size_t num_clips)
    : model_(std::move(model)), kept_(num_clips), room_(gib * 0x1p30) {}

Chunk ClipCache::cut(const Kept& clip, double place) const {
  const int64_t all = clip.frames.size(0), taken = model_.num_frames;
  int64_t first = clip.claimed > 0 ? first_frame(place, clip.claimed, taken) : all;
  // What the container says need not be true.
  if (first + std::min(taken, clip.claimed) > all || first >= all) {
    first = first_frame(place, all, taken);
  }
  const int64_t count = std::min(taken, all - first), each = model_.samples_per_frame;
  Tensor frames = clip.frames.narrow(0, first, count);
  if (count < taken) {
    const Tensor last = frames.narrow(0, count - 1, 1);
    frames = at::cat({frames, last.expand({taken - count, -1, -1, -1})});
  }
  const Tensor samples = clip.samples.narrow(0, first * each, count * each);
  return {frames, at::constant_pad_nd(samples, {0, (taken - count) * each}), count};
}

Chunk ClipCache::decode(const File& file, FrameRange range, double place) const {
  const auto read = [&](int64_t all) {
    const int64_t first = first_frame(place, all, model_.num_frames);
    return ChunkReader(file, model_,
                       {range.first + first, std::min(range.count - first, model_.num_frames)})
        .next();
  };
  const int64_t claimed = claimed_frames(ClipReader(file, clip_format(model_)), range);
  if (claimed > 0) {
    const std::optional<Chunk> chunk = read(claimed);
    if (chunk && chunk->num_frames == std::min(claimed, model_.num_frames)) return *chunk;
  }
  const int64_t all = std::min(count_frames(file, clip_format(model_)) - range.first, range.count);
  if (all <= 0) fail_without_frames(file.name, range);
  return *read(all);
}

std::optional<ClipCache::Kept> ClipCache::keep(size_t index, const File& file,
                                               FrameRange range) const {
  ClipReader clip(file, clip_format(model_));
  check_modalities(clip, file.name);
  double room = 0.0;
  {
    const std::lock_guard lock(mutex_);
    room = room_;
  }
  const int64_t side = model_.image_size, each = model_.samples_per_frame;
  const auto frame_bytes = static_cast<double>(3 * side * side + 4 * each);
  Kept kept{.claimed = claimed_frames(clip, range)};
  if (static_cast<double>(std::max<int64_t>(kept.claimed, 1)) * frame_bytes > room) return {};
  for (int64_t i = 0; i < range.first; ++i) {
    if (!clip.skip_frame()) fail_without_frames(file.name, range);
  }
  std::vector<Tensor> frames;
  while (static_cast<int64_t>(frames.size()) < range.count) {
    const std::optional<Tensor> frame = clip.next_frame();
    if (!frame) break;
    frames.push_back(*frame);
    if (static_cast<double>(frames.size()) * frame_bytes > room) return {};
  }
  if (frames.empty()) fail_without_frames(file.name, range);
  kept.frames = at::stack(frames);
  kept.samples = clip.samples(range.first, static_cast<int64_t>(frames.size()) * each);
  const std::lock_guard lock(mutex_);
  const double bytes = static_cast<double>(frames.size()) * frame_bytes;
  if (!kept_[index].frames.defined() && bytes <= room_) {
    kept_[index] = kept;
    room_ -= bytes;
  }
  return kept;
}

Chunk ClipCache::get(size_t index, const LabelledRow& row, double place) const {
  {
    const std::lock_guard lock(mutex_);
    if (kept_[index].frames.defined()) return cut(kept_[index], place);
  }
  const File file = read_file(row.path);
  const FrameRange range = range_of(row);
  if (const std::optional<Kept> kept = keep(index, file, range)) return cut(*kept, place);
  return decode(file, range, place);
}

// Floyd's: as many draws as points, whatever `count` is.
Tensor drawn_points(int64_t count, int64_t some, Rng& rng) {
  std::set<int64_t> points;
  for (int64_t last = count - some; last < count; ++last) {
    const int64_t drawn = rng.integer(last + 1);
    points.insert(points.contains(drawn) ? last : drawn);
  }
  return at::tensor(std::vector<int64_t>(points.begin(), points.end()), at::kLong);
}

ClipDataset::ClipDataset(std::vector<ClassifiedClip> clips, const MultimodalConfig& model,
                         const ClipDataConfig& data, Split split)
    : clips_(std::move(clips)),
      model_(model),
      hidden_labels_(data.hidden_labels),
      split_(split),
      cache_(model, data.cache_gib, clips_.size()) {}

Example ClipDataset::get(int64_t index, Rng& rng) const {
  const ClassifiedClip& clip = clips_[index];
  if (!clip.row.error.empty()) fail("{}", clip.row.error);
  const bool trains = split_ == Split::kTrain;
  const Chunk chunk = cache_.get(index, clip.row, trains ? rng.uniform() : 0.5);
  Example example = {{"image", chunk.image},
                     {"audio", chunk.audio},
                     {"label", at::scalar_tensor(clip.label, at::kLong)}};
  if (trains) {
    draw(example, rng);
  } else {
    example["num_frames"] = at::scalar_tensor(chunk.num_frames, at::kLong);
  }
  return example;
}

void ClipDataset::draw(Example& example, Rng& rng) const {
  // [T, 3, H, W] -> [T * H * W, 3], in the order of the outputs
  const Tensor pixels = example.at("image").permute({0, 2, 3, 1}).reshape({-1, 3});
  const Tensor sounds =
      samples_to_patches(example.at("audio").unsqueeze(0), model_.samples_per_patch)[0];
  const Tensor image = drawn_points(pixels.size(0), model_.train_queries.image, rng);
  const Tensor audio = drawn_points(sounds.size(0), model_.train_queries.audio, rng);
  example["image_points"] = image;
  example["image_targets"] = pixels.index_select(0, image);
  example["audio_points"] = audio;
  example["audio_targets"] = sounds.index_select(0, audio);
  if (model_.audio == AudioInput::kMel) {
    example["heard"] = sound_of(model_).of(example.at("audio").unsqueeze(0))[0].contiguous();
  }
  example["hidden"] = at::full({1}, rng.chance(hidden_labels_), at::kBool);
}

}  // namespace perceiver
