// Positions of a grid's elements that are never stored: each is the sum of what belongs to its line
// and what to its place along the line (paper, App. G: the Fourier features of a grid are those of
// its dimensions side by side). Scores of elements that end in such positions need products with
// their content alone (docs/kernels.md).
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// A grid that is taken as L lines of W places: the position of element l W + x is
// lines[l] + along[x].
struct GridPlaces {
  Tensor lines;  // [L, P], float32
  Tensor along;  // [W, P]
  // Of each position over its channels, [L W]: the mean, and the sum of squares about it.
  Tensor mean, squares;

  int64_t width() const { return along.size(0); }
  int64_t channels() const { return along.size(1); }
  int64_t count() const { return lines.size(0) * along.size(0); }
};
GridPlaces grid_places(const Tensor& lines, const Tensor& along);

// The positions of `count` elements from `first` on: [count, P]
Tensor positions_of(const GridPlaces& places, int64_t first, int64_t count);

}  // namespace perceiver
