#include "perceiver/model/query.h"

#include <ATen/ATen.h>

#include "perceiver/nn/embed.h"

namespace perceiver {

LearnedQueryImpl::LearnedQueryImpl(int64_t num_queries, int64_t channels)
    : queries_(
          register_parameter("queries", new_parameter({num_queries, channels}, kLearnedVectors))) {}

Array LearnedQueryImpl::forward(int64_t batch, const Tensor& indices) {
  if (!indices.defined()) return {LearnedRows{queries_}, batch};
  const Tensor picked = embedded(queries_, indices);
  return picked.dim() == 3 ? picked : picked.expand({batch, -1, -1});
}

int64_t PositionQuery::channels() const {
  return fourier_channels(static_cast<int64_t>(grid.size()), num_bands);
}

Tensor PositionQuery::all(int64_t batch) const {
  return fourier_features(grid_positions(grid), num_bands, resolution).expand({batch, -1, -1});
}

Tensor PositionQuery::at(int64_t batch, const Tensor& indices, Spacing spacing) const {
  const Tensor features =
      fourier_features(positions_at(indices, grid, spacing), num_bands, resolution);
  return features.expand({batch, -1, -1});
}

}  // namespace perceiver
