#include "perceiver/tasks/multimodal/clip.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace perceiver {

// One channel of several, where a mean would lose nothing: the released demo gives the model the
// first, and what is compared with its results has to be the same sound.
ClipFormat clip_format(const MultimodalConfig& c) {
  return {.image_size = c.image_size,
          .samples_per_second = c.samples_per_frame * kFramesPerSecond,
          .first_channel = true,
          .frames_per_second = kFramesPerSecond};
}

ChunkReader::ChunkReader(const File& file, const MultimodalConfig& config, FrameRange range)
    : config_(config), clip_(file, clip_format(config)), left_(range) {
  int64_t skipped = 0;
  while (skipped < range.first && clip_.skip_frame()) ++skipped;
}

int64_t ChunkReader::expected_chunks() const {
  const int64_t frames = std::min(clip_.expected_frames() - left_.first, left_.count);
  return std::max((frames + config_.num_frames - 1) / config_.num_frames, int64_t{1});
}

std::optional<Chunk> ChunkReader::next() {
  std::vector<Tensor> frames;
  while (static_cast<int64_t>(frames.size()) < std::min(config_.num_frames, left_.count)) {
    std::optional<Tensor> frame = clip_.next_frame();
    if (!frame) break;
    frames.push_back(*std::move(frame));
  }
  if (frames.empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(frames.size());
  frames.resize(config_.num_frames, Tensor(frames.back()));
  const Tensor sound = clip_.samples(left_.first, count * config_.samples_per_frame);
  const int64_t silence = (config_.num_frames - count) * config_.samples_per_frame;
  left_.first += count;
  left_.count -= count;
  return Chunk{at::stack(frames), at::constant_pad_nd(sound, {0, silence}), count};
}

Modalities clip_inputs(const Tensor& image, const Tensor& audio, int64_t num_classes,
                       const at::TensorOptions& options) {
  return {{"audio", audio.to(options.device()).to(at::kFloat)},
          {"image", image.to(options.device()).to(at::kFloat).div(255).to(options)},
          {"label", at::zeros({image.size(0), num_classes}, options)}};
}

}  // namespace perceiver
