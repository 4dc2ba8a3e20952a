// Attention that never holds all scores, on the CPU's register tiles: key blocks stream past the
// queries, and each query keeps a running maximum, sum and weighted sum.
#pragma once

#include <string_view>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/embedding/grid_places.h"

namespace perceiver {

// What the positions of a grid's elements add to scores: to those of element l W + x, whose
// normalised channels are factor * (channel - mean),
//   factor * (along[x] + lines[l] - mean * sums).
struct GridScores {
  GridPlaces places;
  int64_t first;  // which of the grid's elements is the first
  // Products of positions with the other array's N elements; columns are elements or places.
  Tensor along, lines, sums;  // [B, N, W], [B, N, L], [B, N], or of queries on a grid
                              // [B, W, N], [B, L, N], [B, N]
};
// other [B, N, P]: the channels of the other array that meet the positions
GridScores scores_of_keys(const GridPlaces& places, int64_t first, const Tensor& other);
GridScores scores_of_queries(const GridPlaces& places, int64_t first, const Tensor& other);

struct StreamInputs {
  Tensor q;              // [B, H, N, F], float32 or bfloat16
  Tensor k;              // [B, H, M, F]
  Tensor v = {};         // [B, H, M, V]; undefined: the keys are the values too
  Tensor kv_mask = {};   // [B, M] bool, true: there is an element
  Tensor key_bias = {};  // [B, H, M] float32, added to each query's scores before they are scaled
  double scale = 1.0;    // of the scores
  bool normalise_q = false, normalise_k = false;  // to mean 0 and variance 1 over channels
  // Of keys (which are the values too) or queries of a grid, k or q is the content, normalised as
  // part of the whole element. There is one head.
  std::optional<GridScores> key_places = {}, query_places = {};
};

// -> [B, H, N, V], in memory [B, N, H, V]; of keys of a grid V is their content and their
// positions. A query with no key to attend to gets zeros. Where `log_sum` is given it becomes the
// log_sum of AttentionResult (backward.h), [B, H, N].
Tensor attend_stream(const StreamInputs& inputs, Tensor* log_sum = nullptr);

// What an attention that is computed by this, and not by way of attend(), is counted as.
inline constexpr std::string_view kStreamed = "streamed";

// Whether this CPU has tiles for the dtype.
bool stream_takes(at::ScalarType dtype);

}  // namespace perceiver
