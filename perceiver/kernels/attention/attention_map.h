// What attention looks at, without ever holding all of it: the map of 2048 latents over 182,528
// pixels has 374 million weights a head.
#pragma once

#include <optional>
#include <vector>

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {

struct MapOptions {
  int64_t row = 0;                   // of the batch
  std::optional<int64_t> head = {};  // default: the mean of all heads
};

// Mixtures of the rows of an attention map: weights [K, N] over its queries -> float [K, M] over
// its keys. A latent alone is a row of zeros with a one, a group of latents the mean of its rows.
// A few queries at a time, so memory grows with K and M alone.
Tensor mix_attention(const AttentionInputs& inputs, const Tensor& weights,
                     const MapOptions& options = {});

struct Clusters {
  Tensor group;    // int64 [N]: the group of each query
  Tensor weights;  // float [K, N]: of the mean of each group, the largest group first
};

// Queries that look at like places, in at most `groups` groups: k-means over their rows, each
// reduced to at most 256 cells of `grid` (how the keys [first, first + cells) lie), from a start
// that the seed decides.
struct ClusterOptions {
  int64_t groups = 6, first = 0;
  std::vector<int64_t> grid;
  uint64_t seed = 0;
};
Clusters cluster_attention(const AttentionInputs& inputs, const ClusterOptions& clusters,
                           const MapOptions& options = {});

}  // namespace perceiver
