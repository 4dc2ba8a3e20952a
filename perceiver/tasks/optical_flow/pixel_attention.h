// What the flow of a pixel was read from: its query looks at latents, which looked at the frames.
#pragma once

#include "perceiver/tasks/latents_file.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

struct PixelAttention {
  int64_t left, top;  // where the weights begin in the frame
  Tensor weights;     // float [h, w] over the tile that the pixel lies in, the largest 1
};

// `pixel` is "x,y", counted from 0, of the frames that the latents are of. Of several tiles it is
// the one whose say in the pixel's flow counts most.
PixelAttention attention_of_pixel(Model& model, const LatentsFile& file, const std::string& pixel);

}  // namespace perceiver
