// Where each element lies, as features (paper, App. G).
#pragma once

#include <mutex>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/nn/array.h"

namespace perceiver {

// How an index along a dimension of n becomes a coordinate.
enum class Spacing {
  kInclusive,   // -1 to 1, both ends: every input, and outputs asked for as a whole grid
  kSubsampled,  // -1 + 2 i / n, which stops short of 1: the released models' subsets of outputs
};

// Positions of a grid's elements: {H, W} -> [H*W, 2], rows first, coordinates in (y, x) order.
Tensor grid_positions(at::IntArrayRef grid);

// Positions of some elements of a grid, by flat index: [O] -> [O, dims], or [B, O] -> [B, O, dims].
// With kInclusive equal to grid_positions(grid).index_select(0, indices), without the grid.
Tensor positions_at(const Tensor& indices, at::IntArrayRef grid,
                    Spacing spacing = Spacing::kInclusive);

// The coordinates, then their sin and then their cos at `num_bands` frequencies spaced evenly from
// one oscillation over the grid to the Nyquist frequency of `resolution`, the number of samples
// along each dimension: [O, d] -> [O, d + 2 * d * num_bands], or [B, O, d] alike.
Tensor fourier_features(const Tensor& positions, int64_t num_bands, at::IntArrayRef resolution);

// Those of a whole grid's positions, by lines of its last dimension.
GridPlaces fourier_places(at::IntArrayRef grid, int64_t num_bands, at::IntArrayRef resolution,
                          Spacing spacing = Spacing::kInclusive);

// The Fourier features of whole grids, computed when first asked for and kept for the next time.
// Any number of threads may ask.
class GridFeatures {
 public:
  GridFeatures(std::vector<int64_t> resolution, int64_t num_bands)
      : resolution_(std::move(resolution)), num_bands_(num_bands) {}

  // The elements [B, M, C' + P] of a grid that have `content` [B, M, C'] before the features.
  Array behind(const Tensor& content, at::IntArrayRef grid);

  int64_t channels() const;

 private:
  std::vector<int64_t> resolution_;
  int64_t num_bands_;
  std::mutex mutex_;  // of what follows
  std::vector<int64_t> grid_;
  std::shared_ptr<GridPositions> positions_;  // of grid_
};

constexpr int64_t fourier_channels(int64_t dims, int64_t num_bands) {
  return dims * (1 + 2 * num_bands);
}

}  // namespace perceiver
