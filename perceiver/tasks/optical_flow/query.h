// Two frames as latents in a file, and the flow of pixels or of a box asked of them.
#pragma once

#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/tasks/query.h"

namespace perceiver {

// As Task::encode_files() and Task::answer().
void encode_frames(OpticalFlowImpl& model, std::span<const File> files, LatentsFile& file,
                   const Hooks& hooks);
Answer answer_flow(OpticalFlowImpl& model, const LatentsFile& file, const Query& query);

// The frames that the latents are of, uint8 [2, 3, H, W]; fails where they do not go together.
Tensor frames_in(OpticalFlowImpl& model, const LatentsFile& file);

}  // namespace perceiver
