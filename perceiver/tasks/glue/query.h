// The latents of a text in a file, asked for the answers to GLUE's tasks.
#pragma once

#include "perceiver/tasks/glue/model.h"
#include "perceiver/tasks/query.h"

namespace perceiver {

// As Task::answer().
Answer answer_glue(GlueImpl& model, const LatentsFile& file, const Query& query);

}  // namespace perceiver
