#include "perceiver/nn/position.h"

#include <ATen/ATen.h>

#include <numbers>
#include <vector>

namespace perceiver {

// Computed where the indices are: a pass of training, which asks for such subsets, may be recorded
// by a GPU, and what is recorded copies nothing from the CPU. Over an array, not a number, whose
// reciprocal a GPU would multiply by.
static Tensor subsampled(const Tensor& indices, int64_t n) {
  const Tensor twice = indices.to(at::kFloat) * 2.0;
  return twice / at::full({1}, static_cast<double>(n), twice.options()) - 1.0;
}

// Coordinates of the n indices along one dimension: the references' own rounding, which the
// highest frequencies magnify.
static Tensor coordinates(int64_t n, Spacing spacing) {
  if (spacing == Spacing::kInclusive) return at::linspace(-1.0, 1.0, n);
  return subsampled(at::arange(n), n);
}

Tensor positions_at(const Tensor& indices, at::IntArrayRef grid, Spacing spacing) {
  std::vector<Tensor> along(grid.size());
  Tensor rest = indices;
  for (size_t i = grid.size(); i-- > 0;) {
    const Tensor index = rest.remainder(grid[i]);
    along[i] = spacing == Spacing::kInclusive
                   ? coordinates(grid[i], spacing).to(indices.device()).take(index.to(at::kLong))
                   : subsampled(index, grid[i]);
    rest = rest.div(grid[i], "floor");
  }
  return at::stack(along, -1);
}

Tensor grid_positions(at::IntArrayRef grid) {
  return positions_at(at::arange(c10::multiply_integers(grid)), grid);
}

Tensor fourier_features(const Tensor& positions, int64_t num_bands, at::IntArrayRef resolution) {
  const auto dims = static_cast<int64_t>(resolution.size());
  if (positions.dim() == 3) {
    check_shape(positions, {kAny, kAny, dims}, "positions");
  } else {
    check_shape(positions, {kAny, dims}, "positions");
  }
  std::vector<Tensor> bands;  // one row a coordinate
  for (const int64_t size : resolution) {
    bands.push_back(at::linspace(1.0, size / 2.0, num_bands, positions.options()));
  }
  const Tensor angles =
      (positions.unsqueeze(-1) * at::stack(bands)).flatten(-2).mul_(std::numbers::pi);  // [O, d*K]
  return at::cat({positions, angles.sin(), angles.cos()}, -1);
}

GridPlaces fourier_places(at::IntArrayRef grid, int64_t num_bands, at::IntArrayRef resolution,
                          Spacing spacing) {
  const int64_t dims = static_cast<int64_t>(grid.size());
  const at::IntArrayRef outer = grid.slice(0, grid.size() - 1);
  const int64_t num_lines = c10::multiply_integers(outer);
  // With the other coordinates at any place; their channels are taken out again.
  Tensor line_positions = at::zeros({num_lines, dims}), positions = at::zeros({grid.back(), dims});
  if (dims > 1) {
    line_positions.narrow(1, 0, dims - 1)
        .copy_(positions_at(at::arange(num_lines), outer, spacing));
  }
  positions.select(1, dims - 1).copy_(coordinates(grid.back(), spacing));
  Tensor is_last = at::zeros({fourier_channels(dims, num_bands)});
  is_last[dims - 1] = 1.0;
  for (const int64_t of_dimensions : {dims, dims + dims * num_bands}) {  // sines, cosines
    is_last.narrow(0, of_dimensions + (dims - 1) * num_bands, num_bands).fill_(1.0);
  }
  return grid_places(fourier_features(line_positions, num_bands, resolution) * (1.0 - is_last),
                     fourier_features(positions, num_bands, resolution) * is_last);
}

Array GridFeatures::behind(const Tensor& content, at::IntArrayRef grid) {
  const std::lock_guard lock(mutex_);
  if (grid_ != grid.vec()) {
    grid_ = grid.vec();
    positions_ = std::make_shared<GridPositions>(fourier_places(grid, num_bands_, resolution_));
  }
  return Array(OnGrid{content, positions_});
}

int64_t GridFeatures::channels() const {
  return fourier_channels(static_cast<int64_t>(resolution_.size()), num_bands_);
}

}  // namespace perceiver
