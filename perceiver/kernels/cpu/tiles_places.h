// The loops of tiles.h for elements of a grid (grid_places.h), for one instruction set. Part of
// tiles_impl.h.
#pragma once

#include "perceiver/kernels/cpu/tiles_vectors.h"

namespace perceiver {
namespace {

template <typename T>
void normalise_placed(const TilePlacedRows<T>& p) {
  const auto count = static_cast<float>(p.channels), places = static_cast<float>(p.place_channels);
  const int64_t whole = p.channels / kLanes * kLanes;
  for (int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.stride;
    T* out = p.out + row * p.out_stride;
    Vec sums = {};
    for (int64_t j = 0; j < whole; j += kLanes) sums += load(x + j);
    float sum = sum_of(sums);
    for (int64_t j = whole; j < p.channels; ++j) sum += one(x + j);
    const float own = p.channels > 0 ? sum / count : 0.0f;
    Vec squares = {};
    for (int64_t j = 0; j < whole; j += kLanes) {
      const Vec apart = load(x + j) - own;
      squares += apart * apart;
    }
    float square = sum_of(squares);
    for (int64_t j = whole; j < p.channels; ++j) square += (one(x + j) - own) * (one(x + j) - own);
    // Of both together: squares about the common mean.
    const float between = own - p.place_mean[row], all_channels = count + places;
    const float mean = (sum + places * p.place_mean[row]) / all_channels;
    square += p.place_squares[row] + between * between * (count * places / all_channels);
    const float factor = 1.0f / __builtin_sqrtf(square / all_channels + kEpsilon);
    for (int64_t j = 0; j < whole; j += kLanes) store(out + j, (load(x + j) - mean) * factor);
    for (int64_t j = whole; j < p.channels; ++j) put(out + j, (one(x + j) - mean) * factor);
    p.factor[row] = factor;
    p.shift[row] = factor * mean;
  }
}

// The lanes of the vector at column j that are in the run.
inline IntVec lanes_in(const LineRun& run, int64_t j) {
  IntVec column;
  for (int i = 0; i < kLanes; ++i) column[i] = static_cast<int32_t>(j + i);
  return (column >= static_cast<int32_t>(run.begin)) & (column < static_cast<int32_t>(run.end));
}

// Calls visit(j) for each vector of the run that is whole, and visit_some(j, lanes) for the others.
template <typename Visit, typename VisitSome>
inline void for_vectors(const LineRun& run, const Visit& visit, const VisitSome& visit_some) {
  int64_t j = run.begin / kLanes * kLanes;
  if (j < run.begin) visit_some(j, lanes_in(run, j)), j += kLanes;
  for (; j + kLanes <= run.end; j += kLanes) visit(j);
  if (j < run.end) visit_some(j, lanes_in(run, j));
}

void start_keys(const TileKeyPlaces& p) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const float* along = p.along + row * p.along_stride;
    float* scores = p.scores + row * p.stride;
    const float sum = p.sums[row];
    for (int64_t i = 0; i < p.num_runs; ++i) {
      const float line = p.lines[row * p.lines_stride + p.runs[i].line];
      const auto at = [&](int64_t j) {
        return load(p.factor + j) * (load(along + j) + line) - load(p.shift + j) * sum;
      };
      for_vectors(
          p.runs[i], [&](int64_t j) { store(scores + j, at(j)); },
          [&](int64_t j, IntVec lanes) { store(scores + j, lanes ? at(j) : load(scores + j)); });
    }
  }
}

void start_query(const TileQueryPlace& p) {
  for (int64_t j = 0; j < p.columns; j += kLanes) {
    store(p.scores + j,
          (load(p.along + j) + load(p.lines + j)) * p.factor - load(p.sums + j) * p.shift);
  }
}

template <typename T>
void sum_places(const TilePlaceSums<T>& p) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const T* weights = p.weights + row * p.stride;
    float* along = p.along + row * p.along_stride;
    float* lines = p.lines + row * p.lines_stride;
    if (const float rescale = p.rescale[row]; rescale != 1.0f) {
      for (int64_t j = 0; j < p.along_stride; ++j) along[j] *= rescale;
      for (int64_t j = 0; j < p.lines_stride; ++j) lines[j] *= rescale;
      p.shifts[row] *= rescale;
    }
    Vec shifts = {};
    for (int64_t i = 0; i < p.num_runs; ++i) {
      Vec line = {};
      const auto add = [&](int64_t j, Vec weight) {
        const Vec part = weight * load(p.factor + j);
        float* at = along + p.first + j;
        store(at, load(at) + part);
        line += part;
        shifts += weight * load(p.shift + j);
      };
      for_vectors(
          p.runs[i], [&](int64_t j) { add(j, load(weights + j)); },
          [&](int64_t j, IntVec lanes) { add(j, lanes ? load(weights + j) : Vec{}); });
      lines[p.runs[i].line] += sum_of(line);
    }
    p.shifts[row] += sum_of(shifts);
  }
}

}  // namespace
}  // namespace perceiver
