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
// each row, and what c holds where `add` says so, its rows times `factor` where that is given.
template <typename T>
struct TileProduct {
  const T* a;
  int64_t a_stride, rows;
  const T* panels;
  int64_t depth, columns;
  const float* start = nullptr;   // [columns]
  const float* factor = nullptr;  // [rows]
  float* c = nullptr;
  int64_t c_stride = 0;
  bool add = false;
  T* out = nullptr;  // instead of c: the activated product, rounded
  int64_t out_stride = 0;
  Activation activation = Activation::kNone;
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

// One instruction set's loops. A panel is as many columns as a register tile is wide, row after
// row; the last one may be narrower, in steps of a vector. bfloat16 keeps two rows together.
template <typename T>
struct Tiles {
  const char* name;
  int64_t lanes;  // floats in a vector
  int64_t panel_columns;
  // Elements that panels [depth, columns] take.
  int64_t (*panel_size)(int64_t depth, int64_t columns);
  // x [depth, columns] by rows of `stride` -> panels.
  void (*pack)(const T* x, int64_t stride, int64_t depth, int64_t columns, T* panels);
  // The transpose of x [columns, depth] -> panels: weights as layers keep them, keys.
  void (*pack_transposed)(const T* x, int64_t stride, int64_t columns, int64_t depth, T* panels);
  void (*multiply)(const TileProduct<T>& product);
  void (*softmax)(const TileSoftmax<T>& block);
  // Rows of x [rows, channels] -> (x - mean) / sqrt(variance + 1e-5).
  void (*normalise)(const float* x, int64_t stride, int64_t rows, int64_t channels, T* out,
                    int64_t out_stride);
  void (*normalise_same)(const T* x, int64_t stride, int64_t rows, int64_t channels, T* out,
                         int64_t out_stride);
};

// The best this CPU has; with PERCEIVER_ISA=any|avx2|avx512 in the environment, that one.
const Tiles<float>& float_tiles();
// Null on a CPU without bfloat16 arithmetic.
const Tiles<Bf16>* bf16_tiles();

}  // namespace perceiver
