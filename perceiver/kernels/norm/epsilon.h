// The epsilon of every LayerNorm, in C++ and in CUDA: (x - mean) / sqrt(variance + epsilon).
#pragma once

namespace perceiver {

constexpr double kNormEpsilon = 1e-5;  // as in the released code

}  // namespace perceiver
