// What our products for GPUs take, told from sizes and from what the GPU is: plans ask on any
// machine, the kernels on theirs. Plain C++, for .cu files too.
#pragma once

#include <cstdint>

#include "perceiver/kernels/gpu.h"

namespace perceiver {

// What multiplies elements by weights, as a plan names it.
inline constexpr const char *kPanels = "panels", *kLibraryProduct = "library",
                            *kCublasLt = "cublaslt", *kGemmSm90 = "gemm_sm90",
                            *kNarrowMlp = "narrow_mlp_sm90";

// Results of about one tile for each multiprocessor. With more the passes that gemm_sm90.h saves
// weigh less, and large products are a matter of what the GPU may draw: cuBLASLt's do with less
// power.
constexpr bool product_is_small(int64_t rows, int64_t out) {
  constexpr int64_t kTile = 128 * 64, kProcessors = 132;
  return rows * out <= kTile * kProcessors;
}

struct NarrowMlpSizes {
  int64_t in;        // channels of a row as stored
  int64_t channels;  // of these, the first ones: LayerNorm is over them
  int64_t hidden, out;
};

namespace hopper {

// Optical flow's decoder has 322 channels, which are stored as 328. All weights of the first layer
// stay in a block's shared memory, so its rows can go through registers alone.
inline constexpr int kMlpChannels = 328, kMlpHidden = 328;
inline constexpr int kMostMlpOutputs = 8;

}  // namespace hopper

// Whether narrow_mlp_sm90.h has a kernel for them, on a GPU that it is for.
constexpr bool narrow_mlp_takes(const NarrowMlpSizes& s) {
  return s.in >= 8 && s.in <= hopper::kMlpChannels && s.in % 8 == 0 && s.channels >= 1 &&
         s.channels <= s.in && s.hidden >= 1 && s.hidden <= hopper::kMlpHidden && s.out >= 1 &&
         s.out <= hopper::kMostMlpOutputs;
}

}  // namespace perceiver
