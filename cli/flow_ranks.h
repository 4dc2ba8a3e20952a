// The flow of a clip's pairs of frames by several processes.
#pragma once

#include "perceiver/tasks/optical_flow/files.h"

namespace perceiver {

class Ranks;

// Each rank finds the flow of some pairs; the first one has `frames`, to which all of it is added
// in their order; null: the others.
void share_pairs(Ranks& ranks, Model& model, const FlowJob& job, FlowOfFiles* frames,
                 const FlowCallbacks& callbacks);

}  // namespace perceiver
