// Chunk after chunk of a clip through the model of `perceiver autoencode` and back.
#pragma once

#include <string>
#include <vector>

#include "perceiver/media/video.h"
#include "perceiver/tasks/multimodal/clip.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/multimodal/psnr.h"

namespace perceiver {

struct AutoencoderOptions {
  std::vector<std::string> masked = {};  // "audio", "video": hidden, and filled in by the model
  bool original_sound = false;           // is written, not the reconstruction

  bool masks(const std::string& modality) const;
};

struct Autoencoding {
  int64_t num_chunks = 0, num_frames = 0;
  Psnr video = {}, audio = {};
  Tensor label;  // float [classes]: the sum of the chunks' probabilities
};

// The frames as autoencode_chunks() writes them: the original beside the reconstruction.
VideoFormat autoencoded_format(const MultimodalConfig& config);

Autoencoding autoencode_chunks(MultimodalImpl& model, ChunkReader& clip, VideoWriter& writer,
                               const AutoencoderOptions& options);

}  // namespace perceiver
