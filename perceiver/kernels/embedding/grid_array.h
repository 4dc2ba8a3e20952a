// Arrays of a grid's elements that are never stored: content, and a position that is a sum of what
// belongs to its line and what to its place along the line (paper, App. G: the Fourier features of
// a grid are those of its dimensions side by side). Scores of such elements need products with
// their content alone (docs/kernels.md).
#pragma once

#include <optional>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/run.h"

namespace perceiver {

// The positions of a grid that is taken as L lines of W places: that of element l W + x is
// lines[l] + along[x].
struct GridPlaces {
  Tensor lines;  // [L, P], float32
  Tensor along;  // [W, P]
  // Of each position over its channels, [L W]: the mean, and the sum of squares about it.
  Tensor mean, squares;

  int64_t width() const { return along.size(0); }
  int64_t channels() const { return along.size(1); }
};
GridPlaces grid_places(const Tensor& lines, const Tensor& along);

// Elements [B, M, C' + P]: content, then the position.
struct GridArray {
  Tensor content;  // [B, M, C']
  GridPlaces places;
  int64_t first = 0;  // which of the grid's elements is the first
};

// The elements themselves, in the content's dtype.
Tensor stored(const GridArray& array);

// While it lives, known_grid() on this thread knows what its array() and parts of that stand for.
// Who does not ask finds NaN in it.
class KnownGrid {
 public:
  explicit KnownGrid(GridArray array);
  KnownGrid(const KnownGrid&) = delete;

  const Tensor& array() const { return stand_in_; }  // [B, M, C' + P]

 private:
  friend std::optional<GridArray> known_grid(const Tensor& x);

  GridArray elements_;
  Tensor stand_in_;
  const KnownGrid* before_;
  RunScope scope_;
};

// What x [B, N, C] stands for, where it stands for something.
std::optional<GridArray> known_grid(const Tensor& x);

// x, or the elements it stands for.
Tensor elements_of(const Tensor& x);

}  // namespace perceiver
