// Arrays as they are described: what an attend is given before anybody stores it. A module says
// what its array is; forms that compute faster from the parts match on the kind, and everything
// else materialises it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/embedding/grid_places.h"

namespace perceiver {

// The positions of a grid's elements as features, on every device that asks. Any number of threads
// may ask.
class GridPositions {
 public:
  explicit GridPositions(GridPlaces places) : places_(std::move(places)) {}

  const GridPlaces& places() const { return places_; }  // on the device they were given on
  GridPlaces on(at::Device device);                     // lines and places along them

  // [M, P']: zeros for `before` channels, the features, zeros up to padded_channels(): what the
  // kernels of PlacedArray read. Kept for the next call.
  Tensor behind(int64_t before, const at::TensorOptions& options);

 private:
  GridPlaces places_;
  std::mutex mutex_;  // of what follows
  GridPlaces elsewhere_;
  Tensor behind_;
  int64_t before_ = 0;
};

// Elements [content, position] of a grid: content [B, M, C'].
struct OnGrid {
  Tensor content;
  std::shared_ptr<GridPositions> positions;
  int64_t first = 0;  // which of the grid's elements is the first
};

// Rows of a parameter [M, C], the same in every example: latents, learned queries.
struct LearnedRows {
  Tensor rows;
  int64_t first = 0;
};

// Element m of example b is vectors[ids[b, m]] + places[m]: vectors [V, C], places [M, C],
// ids [B, m].
struct LearnedSums {
  Tensor vectors, places, ids;
};

// An array [B, M, C]. Copies and slices share what has been computed of the whole.
class Array {
 public:
  Array() = default;            // undefined
  Array(const Tensor& stored);  // NOLINT(google-explicit-constructor) [B, M, C]
  Array(const LearnedRows& rows, int64_t batch);
  explicit Array(const LearnedSums& sums);
  explicit Array(const OnGrid& elements);

  bool defined() const { return whole_ != nullptr; }
  int64_t batch() const { return batch_; }
  int64_t elements() const { return count_; }
  int64_t channels() const;
  at::TensorOptions options() const;
  at::ScalarType dtype() const { return c10::typeMetaToScalarType(options().dtype()); }

  // Elements [begin, end).
  Array slice(int64_t begin, int64_t end) const;
  // Of an array of one example: that example, `batch` times.
  Array repeated(int64_t batch) const;

  // [B, M, C], the elements themselves. Those of the whole array are kept for its slices.
  Tensor materialise() const;
  // -> [B, M, padded]: normalised_padded() of the elements, which need not be stored for it.
  Tensor normalised(at::ScalarType dtype, int64_t padded, bool constant) const;

  // Whether every example is the first one, in the same memory.
  bool repeats() const;

  // What the array is; nothing where it is something else. Of a slice, what belongs to it.
  std::optional<OnGrid> on_grid() const;
  std::optional<LearnedRows> learned_rows() const;
  std::optional<LearnedSums> learned_sums() const;  // of all examples, from the first place on

 private:
  struct Whole;
  Array(std::shared_ptr<Whole> whole, int64_t count, int64_t batch);
  Tensor part(const Tensor& of_whole) const;

  std::shared_ptr<Whole> whole_;
  int64_t begin_ = 0, count_ = 0, batch_ = 0;
};

}  // namespace perceiver
