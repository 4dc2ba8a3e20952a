// A clip as latents in a file, and frames, pixels, sound or the label asked of them.
#pragma once

#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/query.h"

namespace perceiver {

// As Task::encode_files() and Task::answer().
void encode_chunks(MultimodalImpl& model, std::span<const File> files, LatentsFile& file,
                   const Hooks& hooks);
Answer answer_clip(MultimodalImpl& model, const LatentsFile& file, const Query& query,
                   const std::vector<std::string>& labels);

}  // namespace perceiver
