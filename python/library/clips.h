// A clip in memory through one latent array and back (paper, Sec. 4.3): what
// tasks/multimodal/autoencode.h does with files.
#pragma once

#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/tasks/latents_file.h"
#include "perceiver/tasks/multimodal/model.h"

namespace perceiver {

struct ArrayClip {
  Tensor video;  // uint8 [T, 3, H, W], 25 frames a second; undefined: there is none
  Tensor audio;  // float [T * samples of a frame], in [-1, 1]; undefined: there is none
};

// A file as the model takes it.
ArrayClip read_array_clip(const File& file, const MultimodalConfig& config);

struct ClipReconstruction {
  ArrayClip clip;        // of the model's size
  Tensor probabilities;  // float [classes], the mean of the chunks'
  std::optional<double> video_psnr = {}, audio_psnr = {};
};

// `masked` "audio", "video" are hidden; what is not there must be.
ClipReconstruction autoencode_arrays(MultimodalImpl& model, const ArrayClip& clip,
                                     const std::vector<std::string>& masked);

// Latents [chunks, N, D] and the number of frames; what is not there is hidden.
void encode_arrays(MultimodalImpl& model, const ArrayClip& clip, LatentsFile& file);

}  // namespace perceiver
