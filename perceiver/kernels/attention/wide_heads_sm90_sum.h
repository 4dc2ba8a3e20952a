// The last step of attention_hopper where keys are split: the parts of a query, each with its own
// largest score, become one.
#pragma once

#include "perceiver/kernels/attention/wide_heads_sm90_plan.h"

namespace perceiver::hopper {

// Partial sums in the workspace -> out [B, N, F], log_sum_exp [B, N]
cudaError_t sum_splits(const HopperAttention& a, const SplitPlan& plan, cudaStream_t stream);

}  // namespace perceiver::hopper
