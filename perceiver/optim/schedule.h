// The learning rate, step by step. Steps count from 0; at `steps` it has come to 0.
#pragma once

#include <cstdint>

namespace perceiver {

// ImageNet (App. A): constant for a share of the steps, then a cosine.
double constant_cosine(double learning_rate, int64_t step, int64_t steps, double constant_share);

// Language (App. F): linear from 0 over the warm-up, then a cosine to the end.
double warmup_cosine(double learning_rate, int64_t step, int64_t steps, int64_t warmup_steps);

}  // namespace perceiver
