#include "perceiver/media/clip.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/media/resize.h"
#include "perceiver/media/wav.h"

namespace perceiver {
namespace {

// Rates such as 30000/1001 come as doubles: a clip's length in frames is exact to within this.
constexpr double kRounding = 1e-6;

bool is_sound_alone(const File& file) { return is_wav(file.bytes) || has_sound_ending(file.name); }

// A clip is shown at its own speed: at a frame an hour, as a broken header has it, for ever.
void check_rate(const std::string& name, double frames_per_second) {
  constexpr double kSlowest = 0.1;
  if (frames_per_second >= kSlowest) return;
  fail("{}: {:.3g} frames a second, expected {} at least; a broken header?", name,
       frames_per_second, kSlowest);
}

Tensor read_sound(const File& file, const ClipFormat& format) {
  Sound sound = decode_sound(file);
  if (format.first_channel) {
    sound.samples = sound.samples.narrow(0, 0, 1).clone();
  } else {
    sound = mono(sound);
  }
  return resample(sound, format.samples_per_second).samples[0].clamp(-1.0, 1.0);
}

}  // namespace

Tensor centre_square(const Tensor& pixels) {
  const int64_t height = pixels.size(1), width = pixels.size(2), side = std::min(height, width);
  return pixels.narrow(1, height / 2 - side / 2, side).narrow(2, width / 2 - side / 2, side);
}

ClipReader::ClipReader(const File& file, const ClipFormat& format) : format_(format) {
  if (!is_sound_alone(file)) {
    video_.emplace(file);
    check_rate(file.name, video_->info().frames_per_second);
  }
  if (!video_ || video_->info().has_sound) sound_ = read_sound(file, format);
}

int64_t ClipReader::sound_frames() const {
  if (!has_sound()) return 0;
  const double seconds = static_cast<double>(sound_.size(0)) / format_.samples_per_second;
  return static_cast<int64_t>(std::ceil(seconds * format_.frames_per_second - kRounding));
}

int64_t ClipReader::expected_frames() const {
  if (!video_ || !video_->info().num_frames) return sound_frames();
  const VideoInfo& info = video_->info();
  return static_cast<int64_t>(std::ceil(static_cast<double>(*info.num_frames) *
                                            format_.frames_per_second / info.frames_per_second -
                                        kRounding));
}

bool ClipReader::skip_frame() {
  if (!video_) {
    if (next_ >= sound_frames()) return false;
    ++next_;
    return true;
  }
  // In frames of the video, whose frame i stands at i and is seen until i + 1.
  const double time =
      next_ * video_->info().frames_per_second / static_cast<double>(format_.frames_per_second);
  const auto nearest = static_cast<int64_t>(std::floor(time + 0.5));
  while (read_ <= nearest && !ended_) {
    if (std::optional<Tensor> picture = video_->next()) {
      picture_ = *std::move(picture);
      prepared_ = Tensor();
      ++read_;
    } else {
      ended_ = true;
    }
  }
  if (ended_ && time >= static_cast<double>(read_) - kRounding) return false;
  ++next_;
  return true;
}

std::optional<Tensor> ClipReader::next_frame() {
  if (!skip_frame()) return std::nullopt;
  const int64_t size = format_.image_size;
  if (!video_) return at::zeros({3, size, size}, at::kByte);
  if (!prepared_.defined()) {
    prepared_ = resize_linear_opencv(centre_square(picture_).contiguous(), {size, size});
  }
  return prepared_;
}

Tensor ClipReader::samples(int64_t first_frame, int64_t num_samples) const {
  Tensor samples = at::zeros({num_samples});
  if (!has_sound()) return samples;
  const int64_t begin = std::min(
      first_frame * format_.samples_per_second / format_.frames_per_second, sound_.size(0));
  const int64_t count = std::min(num_samples, sound_.size(0) - begin);
  samples.narrow(0, 0, count).copy_(sound_.narrow(0, begin, count));
  return samples;
}

int64_t count_frames(const File& file, const ClipFormat& format) {
  ClipReader clip(file, format);
  int64_t count = 0;
  while (clip.skip_frame()) ++count;
  return count;
}

}  // namespace perceiver
