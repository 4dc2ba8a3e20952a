// Query arrays (paper, Sec. 3.2 and Fig. 3): one vector for each output asked for. Queries that
// are input features need nothing here: the task passes the input array again.
#pragma once

#include "perceiver/nn/layers.h"
#include "perceiver/nn/position.h"

namespace perceiver {

// Learned vectors, the same for every example: a class label (one), masked positions (2048),
// GLUE tasks (eight).
class LearnedQueryImpl : public torch::nn::Module {
 public:
  LearnedQueryImpl(int64_t num_queries, int64_t channels);

  // -> [B, O, Q]. `indices` [O] or [B, O] picks some of them; undefined means all.
  Array forward(int64_t batch, const Tensor& indices = {});

  int64_t channels() const { return queries_.size(1); }

 private:
  Tensor queries_;
};
TORCH_MODULE(LearnedQuery);

// Outputs on a grid, asked for by the Fourier features of their positions: video, audio.
struct PositionQuery {
  std::vector<int64_t> grid;        // of the outputs
  std::vector<int64_t> resolution;  // that the frequencies go up to: the model's, not the grid's
  int64_t num_bands;

  int64_t channels() const;

  // All outputs: -> [B, O, Q].
  Tensor all(int64_t batch) const;

  // Some outputs, by flat index [O], or of each example its own [B, O]: -> [B, O, Q]. kInclusive
  // gives rows of all(); kSubsampled is what the released multimodal model was trained and
  // evaluated with.
  Tensor at(int64_t batch, const Tensor& indices, Spacing spacing) const;
};

}  // namespace perceiver
