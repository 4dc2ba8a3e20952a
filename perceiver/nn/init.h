// How parameters come to be, and how they start: as in DeepMind's code.
#pragma once

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/run.h"

namespace perceiver {

// What a parameter starts as.
struct Init {
  enum class Kind { kZeros, kOnes, kTruncatedNormal };
  Kind kind;
  double stddev = 0.0;  // of the normal distribution that is cut at two of them
};
constexpr Init kZeros = {Init::Kind::kZeros};
constexpr Init kOnes = {Init::Kind::kOnes};
constexpr Init truncated_normal(double stddev) { return {Init::Kind::kTruncatedNormal, stddev}; }

// Latents, learned positions and queries, paddings of modalities, mask tokens.
constexpr Init kLearnedVectors = truncated_normal(0.02);

// What becomes of Init while modules are constructed.
enum class Construct {
  kInitialised,    // the usual: to train from the start
  kEmpty,          // memory and no values: weights will be loaded
  kWithoutMemory,  // on the meta device: to count, not to compute
};

// While it lives, modules constructed by this thread get their parameters this way.
struct ConstructScope : RunScope {
  explicit ConstructScope(Construct construct)
      : RunScope([&](Run& run) { run.construct = construct; }) {}
};

// True while modules are constructed without memory: nothing can be computed for them.
bool constructs_without_memory();

Tensor new_parameter(at::IntArrayRef sizes, Init init);

}  // namespace perceiver
