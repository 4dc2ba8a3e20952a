#include "perceiver/nn/position.h"

#include <ATen/ATen.h>

#include <numbers>
#include <vector>

#include "perceiver/kernels/attention/wide_attention.h"

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

// fourier_features(grid_positions(grid), ...) in parts [grid..., some channels], from those of each
// dimension: as many sines as the grid has rows and columns, not elements, and no more memory.
static std::vector<Tensor> grid_feature_parts(at::IntArrayRef grid, int64_t num_bands,
                                              at::IntArrayRef resolution,
                                              const at::TensorOptions& options) {
  std::vector<Tensor> coordinate, sines, cosines;
  for (size_t i = 0; i < grid.size(); ++i) {
    const Tensor line = coordinates(grid[i], Spacing::kInclusive).unsqueeze(-1);  // [n, 1]
    const Tensor features = fourier_features(line, num_bands, resolution.slice(i, 1)).to(options);
    std::vector<int64_t> sizes(grid.size() + 1, 1), whole = grid.vec();
    sizes[i] = grid[i];
    whole.push_back(-1);
    const auto spread = [&](int64_t begin, int64_t count) {
      sizes.back() = count;
      return features.narrow(1, begin, count).reshape(sizes).expand(whole);
    };
    coordinate.push_back(spread(0, 1));
    sines.push_back(spread(1, num_bands));
    cosines.push_back(spread(1 + num_bands, num_bands));
  }
  std::vector<Tensor> all = std::move(coordinate);
  all.insert(all.end(), sines.begin(), sines.end());
  all.insert(all.end(), cosines.begin(), cosines.end());
  return all;
}

static Tensor grid_features(at::IntArrayRef grid, int64_t num_bands, at::IntArrayRef resolution,
                            const at::TensorOptions& options) {
  return at::cat(grid_feature_parts(grid, num_bands, resolution, options), -1).flatten(0, -2);
}

Tensor GridFeatures::operator()(at::IntArrayRef grid, const Tensor& like) {
  const std::lock_guard lock(mutex_);
  if (grid_ != grid.vec() || features_.device() != like.device() ||
      features_.dtype() != like.dtype()) {
    grid_ = grid.vec();
    features_ = grid_features(grid, num_bands_, resolution_, like.options());
  }
  return features_.expand({like.size(0), -1, -1});
}

Tensor GridFeatures::appended_to(const Tensor& content, at::IntArrayRef grid) {
  if (!content.is_cpu()) return at::cat({content, (*this)(grid, content)}, -1);
  std::vector<int64_t> sizes = grid.vec();
  sizes.insert(sizes.begin(), content.size(0));
  sizes.push_back(-1);
  std::vector<Tensor> parts = {content.unflatten(1, grid)};
  for (const Tensor& part : grid_feature_parts(grid, num_bands_, resolution_, content.options())) {
    parts.push_back(part.expand(sizes));
  }
  return at::cat(parts, -1).flatten(1, -2);
}

PlacedArray GridFeatures::behind(const Tensor& content, at::IntArrayRef grid) {
  const int64_t before = content.size(2), all = before + channels(), padded = padded_channels(all);
  const std::lock_guard lock(mutex_);
  const bool known = placed_.defined() && placed_grid_ == grid.vec() && placed_behind_ == before &&
                     placed_.device() == content.device() && placed_.dtype() == content.dtype();
  if (!known) {
    const Tensor features = grid_features(grid, num_bands_, resolution_, content.options());
    placed_grid_ = grid.vec(), placed_behind_ = before;
    placed_ = at::constant_pad_nd(features, {before, padded - all});
  }
  return {.places = placed_, .content = content, .channels = all};
}

GridArray GridFeatures::by_lines(const Tensor& content, at::IntArrayRef grid) const {
  return {.content = content, .places = fourier_places(grid, num_bands_, resolution_)};
}

int64_t GridFeatures::channels() const {
  return fourier_channels(static_cast<int64_t>(resolution_.size()), num_bands_);
}

}  // namespace perceiver
