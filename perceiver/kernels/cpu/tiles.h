// The inner loops of the CPU's fast path: products on register tiles, softmax, normalisation.
// Written once (tiles_impl.h), compiled for each instruction set, picked when the program starts.
#pragma once

#include <cstdint>

namespace perceiver {

struct Bf16 {
  uint16_t bits;
};

enum class Activation { kNone, kGeluTanh, kGeluErf };

// c [rows, columns] = a [rows, depth] * b [depth, columns], b in panels. What is added: `start` to
// each row, and `onto`, its rows times `factor` where that is given.
template <typename T>
struct TileProduct {
  const T* a;
  int64_t a_stride, rows;
  const T* panels;
  int64_t depth, columns;
  const float* start = nullptr;  // [columns]
  const float* onto = nullptr;   // [rows, columns], c itself or elsewhere
  int64_t onto_stride = 0;
  const float* factor = nullptr;  // [rows]
  float* c = nullptr;
  int64_t c_stride = 0;
  T* out = nullptr;  // instead of c: the activated product, rounded
  int64_t out_stride = 0;
  Activation activation = Activation::kNone;
  // What will be multiplied by next: asked for from memory on the way.
  const T *ahead = nullptr, *ahead_end = nullptr;
};

// A block of scores [rows, columns] and what is known of each row so far.
template <typename T>
struct TileSoftmax {
  const float* scores;
  int64_t rows, columns, stride;  // whole vectors of columns; -infinity where there is no key
  float scale;                    // makes scores powers of two
  float* maximum;                 // [rows], of scores times scale; raised by this block
  float* sum;                     // [rows]
  float* factor;  // [rows], out: what was summed before this block must be multiplied by it
  T* weights;     // [rows, columns], out: 2^(score * scale - maximum)
  int64_t weights_stride;
};

// Rows of elements on a grid: their content is normalised as part of elements that have the
// channels of a position, too.
template <typename T>
struct TilePlacedRows {
  const T* x;
  int64_t stride, rows, channels;
  const float *place_mean, *place_squares;  // [rows], of the positions (grid_places.h)
  int64_t place_channels;
  T* out;
  int64_t out_stride;
  float *factor, *shift;  // [rows], out: a channel c becomes factor c - shift
};

// Some of a block's columns: those that are of one line of a grid.
struct LineRun {
  int64_t begin, end, line;
};

// What scores of keys on a grid start from:
//   scores[i, j] = factor[j] (along[i, j] + lines[i, line of j]) - shift[j] sums[i]
struct TileKeyPlaces {
  const LineRun* runs;
  int64_t num_runs, rows;
  const float *factor, *shift;  // [columns]
  const float *along, *lines, *sums;
  int64_t along_stride, lines_stride;
  float* scores;
  int64_t stride;
};

// And where their positions' part of the weighted sums goes: sums over each place along the lines,
// over each line, and over all,
//   along[i, j] += weights[i, j] factor[j], lines[i, line of j] += the same,
//   shifts[i] += weights[i, j] shift[j],
// with what was there times rescale[i].
template <typename T>
struct TilePlaceSums {
  const LineRun* runs;
  int64_t num_runs, rows;
  const float *factor, *shift;  // [columns]
  const T* weights;
  int64_t stride;
  const float* rescale;  // [rows]
  float *along, *lines, *shifts;
  int64_t along_stride, lines_stride;  // rows without gaps
  int64_t first;                       // where in a row of `along` the block's first column is
};

// The same start of one query's scores: factor (along[j] + lines[j]) - shift sums[j]
struct TileQueryPlace {
  float factor, shift;
  const float *along, *lines, *sums;  // [columns]
  float* scores;
  int64_t columns;
};

constexpr int64_t kMostKeys = 256;

// One instruction set's loops. A panel is as many columns as a register tile is wide, row after
// row; the last one may be narrower, in steps of a vector. bfloat16 keeps two rows together.
template <typename T>
struct Tiles {
  const char* name;
  int64_t lanes;  // floats in a vector
  int64_t panel_columns;
  int64_t key_block;  // keys that a stream takes at once, at most kMostKeys
  int64_t row_block;  // a layer's rows that go over all panels before the next rows do
  // Elements that panels [depth, columns] take.
  int64_t (*panel_size)(int64_t depth, int64_t columns);
  // x [depth, columns] by rows of `stride` -> panels.
  void (*pack)(const T* x, int64_t stride, int64_t depth, int64_t columns, T* panels);
  // The transpose of x [columns, depth] -> panels: weights as layers keep them, keys.
  void (*pack_transposed)(const T* x, int64_t stride, int64_t columns, int64_t depth, T* panels);
  void (*multiply)(const TileProduct<T>& product);
  void (*softmax)(const TileSoftmax<T>& block);
  // x [count] times the factor, rounded.
  void (*scale)(const float* x, float factor, int64_t count, T* out);
  // Rows of x [rows, channels] -> (x - mean) / sqrt(variance + 1e-5).
  void (*normalise)(const float* x, int64_t stride, int64_t rows, int64_t channels, T* out,
                    int64_t out_stride);
  void (*normalise_same)(const T* x, int64_t stride, int64_t rows, int64_t channels, T* out,
                         int64_t out_stride);
  void (*normalise_placed)(const TilePlacedRows<T>& rows);
  void (*start_keys)(const TileKeyPlaces& places);
  void (*start_query)(const TileQueryPlace& place);
  void (*sum_places)(const TilePlaceSums<T>& sums);
};

// The best this CPU has; with PERCEIVER_ISA=any|avx2|avx512|amx in the environment, at most that.
const Tiles<float>& float_tiles();
// Null on a CPU without bfloat16 arithmetic.
const Tiles<Bf16>* bf16_tiles();

}  // namespace perceiver
