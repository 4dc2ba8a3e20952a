// A clip as latents, an array for each chunk, and any pixels, sound or the label asked of them
// (paper, Sec. 4.3): only what is asked for is decoded. Results are floats on the CPU.
#pragma once

#include "perceiver/tasks/multimodal/clip.h"
#include "perceiver/tasks/multimodal/model.h"

namespace perceiver {

struct ClipLatents {
  Tensor latents;      // [chunks, N, D], float, on the CPU
  int64_t num_frames;  // of the clip; the last chunk may be longer
};

// All that is left of the clip. The label is hidden from the model, and what the clip does not
// have.
ClipLatents encode_clip(MultimodalImpl& model, ChunkReader& clip);

// frames [F] of the clip, pixels [P] of a frame by flat index -> colours [F, P, 3] in [0, 1]
Tensor pixels_at(MultimodalImpl& model, const Tensor& latents, const Tensor& frames,
                 const Tensor& pixels);

// Samples [begin, end) of the clip -> [S] in [-1, 1]
Tensor samples_at(MultimodalImpl& model, const Tensor& latents, int64_t begin, int64_t end);

// -> probabilities [classes], the mean of the chunks'
Tensor label_of(MultimodalImpl& model, const Tensor& latents);

}  // namespace perceiver
