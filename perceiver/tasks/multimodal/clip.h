// A clip in the chunks that the model autoencodes (paper, Sec. 4.3), cut as the released demo does:
// the middle square, sound of the first channel.
#pragma once

#include <limits>

#include "perceiver/media/clip.h"
#include "perceiver/model/multimodal.h"
#include "perceiver/tasks/multimodal/config.h"

namespace perceiver {

constexpr int64_t kFramesPerSecond = 25;  // of the released model's clips

// What part of a clip is taken, in frames at that rate.
struct FrameRange {
  int64_t first = 0, count = std::numeric_limits<int64_t>::max();
};

struct Chunk {
  Tensor image;        // uint8 [T, 3, H, W]
  Tensor audio;        // float [S], in [-1, 1]
  int64_t num_frames;  // of the clip; after them the last is repeated, in silence
};

// How clips are read for a model.
ClipFormat clip_format(const MultimodalConfig& config);

class ChunkReader {
 public:
  ChunkReader(const File& file, const MultimodalConfig& config, FrameRange range = {});

  bool has_picture() const { return clip_.has_picture(); }
  bool has_sound() const { return clip_.has_sound(); }
  int64_t expected_chunks() const;  // a guess

  std::optional<Chunk> next();

 private:
  MultimodalConfig config_;
  ClipReader clip_;
  FrameRange left_;
};

// image uint8 [B, T, 3, H, W] and audio [B, S] in [-1, 1] as the model takes them, the image in
// [0, 1] and an empty label [B, classes] beside them, on the device and in the dtype of `options`;
// sound is float32 whatever the dtype, for a spectrogram is made of it first.
Modalities clip_inputs(const Tensor& image, const Tensor& audio, int64_t num_classes,
                       const at::TensorOptions& options);

}  // namespace perceiver
