// The loops of tiles.h for the instruction set that the includer is compiled for. Nothing of the
// standard library is used (tiles_vectors.h).
#pragma once

#include "perceiver/kernels/cpu/tiles_places.h"
#include "perceiver/kernels/cpu/tiles_vectors.h"

namespace perceiver {
namespace {

constexpr int kTileVectors = 3;  // with kTileRows: as many sums as fit in the registers
constexpr int kPanelColumns = kTileVectors * kLanes;
// The last panel may be narrower, and few sums would wait for each other.
constexpr int rows_of_tile(int vectors) {
  return vectors == kTileVectors ? kTileRows : vectors == 2 ? kTileRows * 3 / 2 : 12;
}
constexpr int64_t kLongestChain = 256;  // additions to one sum

// 2^x of x within a half of zero (minimax; with its rounding, within 1e-7), for results in T.
template <typename T>
inline Vec exp2_of_rest(Vec x) {
  Vec power = x * 1.535336188e-4f + 1.339887442e-3f;
  power = power * x + 9.618437358e-3f;
  power = power * x + 5.550332471e-2f;
  power = power * x + 2.402264791e-1f;
  power = power * x + 6.931472029e-1f;
  return power * x + 1.0f;
}

// Within 1e-4, a twentieth of what rounding to eight bits takes.
template <>
inline Vec exp2_of_rest<Bf16>(Vec x) {
  return ((x * 0.055008970f + 0.24221106f) * x + 0.69328293f) * x + 1.0f;
}

// 2^x for x <= 127, 0 far below zero: the whole part goes to the exponent, the rest to a
// polynomial.
template <typename T = float>
inline Vec exp2_of(Vec x) {
#ifdef __AVX512F__
  const Vec bounded = _mm512_max_ps(x, all(-200.0f));  // its power is below the smallest float
  const Vec whole = _mm512_roundscale_ps(bounded, _MM_FROUND_TO_NEAREST_INT);
  return _mm512_scalef_ps(exp2_of_rest<T>(bounded - whole), whole);
#else
  constexpr float kWholeNumbers = 12582912.0f;  // 1.5 * 2^23: adding it rounds away the fraction
  const Vec bounded = larger(x, all(-127.0f));
  const Vec shifted = bounded + kWholeNumbers;
  const Vec power = exp2_of_rest<T>(bounded - (shifted - kWholeNumbers));
  const BitVec exponent = reinterpret_cast<BitVec>(shifted) << 23;
  const Vec result = reinterpret_cast<Vec>(reinterpret_cast<BitVec>(power) + exponent);
  return x < all(-126.0f) ? Vec{} : result;
#endif
}

constexpr float kLog2E = 1.44269504f;

inline Vec gelu_tanh(Vec x) {
  const Vec u = x * 0.7978845608f * (x * x * 0.044715f + 1.0f);
  const Vec e = exp2_of(u * (-2.0f * kLog2E));
  // Below, e is more than a float holds, and the result 0.
  return u < all(-40.0f) ? Vec{} : x / (e + 1.0f);
}

// erf by Abramowitz and Stegun, 7.1.26: within 1.5e-7.
inline Vec gelu_erf(Vec x) {
  const Vec z = (x < Vec{} ? -x : x) * 0.70710678f;
  const Vec t = 1.0f / (z * 0.3275911f + 1.0f);
  Vec tail = t * 1.061405429f - 1.453152027f;
  tail = tail * t + 1.421413741f;
  tail = tail * t - 0.284496736f;
  tail = (tail * t + 0.254829592f) * t * exp2_of(z * z * -kLog2E);
  return x * 0.5f * (x < Vec{} ? tail : 2.0f - tail);
}

inline Vec activated(Vec x, Activation activation) {
  if (activation == Activation::kGeluTanh) return gelu_tanh(x);
  return activation == Activation::kGeluErf ? gelu_erf(x) : x;
}

// How many rows of b a step takes in, and how.
template <typename T>
constexpr int kStep = 1;
template <>
constexpr int kStep<Bf16> = 2;

template <typename T>
int64_t padded_depth(int64_t depth) {
  return (depth + kStep<T> - 1) / kStep<T> * kStep<T>;
}

// A tile asks for one line of what comes next in so many steps.
constexpr int kStepsOfLine = 4;
template <typename T>
constexpr int64_t kLine = 64 / sizeof(T);

// step(k) for every step, `ahead` being asked for from memory on the way.
template <bool kAhead, typename T, typename Step>
inline __attribute__((always_inline)) void for_steps(int64_t steps, const T* ahead,
                                                     const Step& step) {
  int64_t k = 0;
  if constexpr (kAhead) {
    for (; k + kStepsOfLine <= steps; k += kStepsOfLine, ahead += kLine<T>) {
      __builtin_prefetch(ahead, 0, 2);
      for (int i = 0; i < kStepsOfLine; ++i) step(k + i);
    }
  }
  for (; k < steps; ++k) step(k);
}

// How far a tile gets with `ahead`.
template <typename T>
int64_t asked_for(int64_t steps) {
  return steps / kStepsOfLine * kLine<T>;
}

// Where the sums of a tile go, and what they are added to.
struct TileEnd {
  float* c;
  int64_t c_stride;
  const float* start;  // of the tile's columns, or null
  const float* onto;   // what the tile is added to, or null
  int64_t onto_stride;
  const float* factor;  // of the tile's rows, or null: onto is added times it
};

// f(i, j) for each vector of a tile, loops unrolled: only then are its sums registers from the
// first line of `accumulate` to the last (GCC kept an array of them, cleared and written out).
template <int kRows, int kVectors, typename F>
inline __attribute__((always_inline)) void for_tile(const F& f) {
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < kVectors; ++j) f(i, j);
  }
}

template <int kRows, int kVectors>
inline __attribute__((always_inline)) void finish_tile(const TileEnd& end,
                                                       Vec (&sums)[kRows][kVectors]) {
  if (end.start) {
    for_tile<kRows, kVectors>([&](int i, int j) { sums[i][j] += load(end.start + j * kLanes); });
  }
  const auto put_each = [&](const auto& value) {
    float* c = end.c;
    const float* onto = end.onto ? end.onto : c;  // then it is not read
    for_tile<kRows, kVectors>([&](int i, int j) {
      store(c + j * kLanes, value(sums[i][j], onto + j * kLanes, i));
      if (j == kVectors - 1) c += end.c_stride, onto += end.onto_stride;
    });
  };
  if (!end.onto) {
    put_each([](Vec sum, const float*, int) { return sum; });
  } else if (end.factor) {
    put_each([&](Vec sum, const float* onto, int i) { return sum + load(onto) * end.factor[i]; });
  } else {
    put_each([](Vec sum, const float* onto, int) { return sum + load(onto); });
  }
}

// What a step takes of a row of a, of a vector of the panel, and does with both.
inline Vec of_row(const float* a) { return all(*a); }
inline Vec of_panel(const float* panel) { return load(panel); }
inline Vec multiply_add(Vec sum, Vec a, Vec b) { return sum + a * b; }

#ifdef __AVX512BF16__
inline __m512bh of_row(const Bf16* a) {
  int32_t pair;
  memcpy(&pair, a, 4);
  return (__m512bh)_mm512_set1_epi32(pair);
}
inline __m512bh of_panel(const Bf16* panel) { return (__m512bh)_mm512_loadu_si512(panel); }
inline Vec multiply_add(Vec sum, __m512bh a, __m512bh b) { return _mm512_dpbf16_ps(sum, a, b); }
#endif

// a [kRows, depth] * panel. Not inlined: on its own, the compiler keeps every sum in a register.
template <int kRows, int kVectors, bool kAhead = false, typename T>
__attribute__((noinline)) void accumulate(const T* a, int64_t stride, const T* panel, int64_t steps,
                                          const TileEnd& end, const T* ahead = nullptr) {
  Vec sums[kRows][kVectors];
  for_tile<kRows, kVectors>([&](int i, int j) { sums[i][j] = Vec{}; });
  for_steps<kAhead>(steps, ahead, [&](int64_t k) {
    decltype(of_panel(panel)) b[kVectors], x;
    for_tile<kRows, kVectors>([&](int i, int j) {
      if (i == 0) b[j] = of_panel(panel + j * kStep<T> * kLanes);
      if (j == 0) x = of_row(a + i * stride + k * kStep<T>);
      sums[i][j] = multiply_add(sums[i][j], x, b[j]);
    });
    panel += kVectors * kStep<T> * kLanes;
  });
  finish_tile(end, sums);
}

// A panel's columns of a product, from `column` on, and what is left to ask for.
template <typename T>
struct PanelPart {
  const TileProduct<T>& p;
  int64_t column;
  const T *panel, *ahead;
};

// kRows x kVectors of the product, from row `row` on, to their `end`.
template <typename T, int kRows, int kVectors, bool kAhead>
inline void multiply_tile(const PanelPart<T>& part, int64_t row, TileEnd end) {
  const TileProduct<T>& p = part.p;
  const int64_t steps = padded_depth<T>(p.depth) / kStep<T>;
  // Sums of sums: a long chain of additions loses twice the digits that BLAS does.
  const int64_t chains = p.depth > 0 ? (p.depth + kLongestChain - 1) / kLongestChain : 1;
  const int64_t chain = (steps + chains - 1) / chains;
  const T* a = p.a + row * p.a_stride;
  int64_t first = 0;
  do {  // once without depth, too: what is added is
    accumulate<kRows, kVectors, kAhead>(
        a + first * kStep<T>, p.a_stride, part.panel + first * kStep<T> * kVectors * kLanes,
        smaller(chain, steps - first), end, kAhead ? part.ahead + asked_for<T>(first) : nullptr);
    end = {end.c, end.c_stride, nullptr, end.c, end.c_stride, nullptr};
    first += chain;
  } while (first < steps);
}

// Through a copy: where the panel is wider than c, or the result goes elsewhere.
template <typename T, int kRows, int kVectors, bool kAhead>
inline void multiply_apart(const PanelPart<T>& part, int64_t row) {
  constexpr int kWidth = kVectors * kLanes;
  const TileProduct<T>& p = part.p;
  alignas(64) float copy[kRows * kWidth];
  alignas(64) float start[kWidth] = {};
  const int64_t width = smaller(kWidth, p.columns - part.column);
  if (p.start) memcpy(start, p.start + part.column, width * sizeof(float));
  if (p.onto) {
    const float* onto = p.onto + row * p.onto_stride + part.column;
    for (int i = 0; i < kRows; ++i) {
      memcpy(copy + i * kWidth, onto + i * p.onto_stride, width * sizeof(float));
    }
  }
  multiply_tile<T, kRows, kVectors, kAhead>(part, row,
                                            {.c = copy,
                                             .c_stride = kWidth,
                                             .start = start,
                                             .onto = p.onto ? copy : nullptr,
                                             .onto_stride = kWidth,
                                             .factor = p.factor ? p.factor + row : nullptr});
  for (int i = 0; i < kRows; ++i) {
    float* values = copy + i * kWidth;
    if (!p.out) {
      memcpy(p.c + (row + i) * p.c_stride + part.column, values, width * sizeof(float));
      continue;
    }
    for (int j = 0; j < kVectors; ++j) {
      const Vec value = activated(load(values + j * kLanes), p.activation);
      store(values + j * kLanes, value);
    }
    T* out = p.out + (row + i) * p.out_stride + part.column;
    int64_t j = 0;
    for (; j + kLanes <= width; j += kLanes) store(out + j, load(values + j));
    for (; j < width; ++j) put(out + j, values[j]);
  }
}

template <typename T, int kRows, int kVectors, bool kAhead>
inline void multiply_rows(const PanelPart<T>& part, int64_t row) {
  const TileProduct<T>& p = part.p;
  if (p.out || p.columns - part.column < kVectors * kLanes) {
    return multiply_apart<T, kRows, kVectors, kAhead>(part, row);
  }
  multiply_tile<T, kRows, kVectors, kAhead>(
      part, row,
      {.c = p.c + row * p.c_stride + part.column,
       .c_stride = p.c_stride,
       .start = p.start ? p.start + part.column : nullptr,
       .onto = p.onto ? p.onto + row * p.onto_stride + part.column : nullptr,
       .onto_stride = p.onto_stride,
       .factor = p.factor ? p.factor + row : nullptr});
}

template <typename T, int kVectors>
void multiply_panel(PanelPart<T>& part) {
  constexpr int kRows = rows_of_tile(kVectors);
  const int64_t rows = part.p.rows;
  const int64_t asked = asked_for<T>(padded_depth<T>(part.p.depth) / kStep<T>);
  int64_t row = 0;
  for (; row + kRows <= rows && part.ahead < part.p.ahead_end; row += kRows) {
    multiply_rows<T, kRows, kVectors, true>(part, row);
    part.ahead += asked;
  }
  for (; row + kRows <= rows; row += kRows) multiply_rows<T, kRows, kVectors, false>(part, row);
  for (; row + 4 <= rows; row += 4) multiply_rows<T, 4, kVectors, false>(part, row);
  for (; row < rows; ++row) multiply_rows<T, 1, kVectors, false>(part, row);
}

inline int64_t vectors_for(int64_t columns) { return (columns + kLanes - 1) / kLanes; }

template <typename T>
int64_t panel_size(int64_t depth, int64_t columns) {
  return padded_depth<T>(depth) * vectors_for(columns) * kLanes;
}

// f.operator()<n>(column) for the first column of each panel, n being its vectors.
template <typename F>
inline void for_panels(int64_t columns, const F& f) {
  for (int64_t column = 0; column < columns; column += kPanelColumns) {
    switch (smaller(kTileVectors, vectors_for(columns - column))) {
      case 1:
        f.template operator()<1>(column);
        break;
      case 2:
        f.template operator()<2>(column);
        break;
      default:
        f.template operator()<kTileVectors>(column);
    }
  }
}

template <typename T>
void multiply(const TileProduct<T>& p) {
  PanelPart<T> part{p, 0, p.panels, p.ahead};
  for_panels(p.columns, [&]<int kVectors>(int64_t column) {
    part.column = column;
    part.panel = p.panels + padded_depth<T>(p.depth) * column;
    multiply_panel<T, kVectors>(part);
  });
}

// Element [k, j] of a panel of this width.
template <typename T>
inline int64_t place(int64_t k, int64_t j, int64_t width) {
  return (k / kStep<T> * width + j) * kStep<T> + k % kStep<T>;
}

template <typename T>
void pack_one_by_one(const T* x, int64_t stride, int64_t columns, int64_t depth, T* panels) {
  constexpr int64_t kTogether = 16;  // of a row that is read along: one cache line
  const int64_t deep = padded_depth<T>(depth);
  for (int64_t first = 0; first < columns; first += kPanelColumns) {
    const int64_t here = smaller(kPanelColumns, columns - first);
    const int64_t width = vectors_for(here) * kLanes;
    T* panel = panels + deep * first;
    if (here < width || deep > depth) memset(panel, 0, deep * width * sizeof(T));
    const T* from = x + first * stride;
    for (int64_t begin = 0; begin < depth; begin += kTogether) {
      const int64_t end = smaller(begin + kTogether, depth);
      for (int64_t j = 0; j < here; ++j) {
        for (int64_t k = begin; k < end; ++k) {
          panel[place<T>(k, j, width)] = from[j * stride + k];
        }
      }
    }
  }
}

template <typename T>
void pack_transposed(const T* x, int64_t stride, int64_t columns, int64_t depth, T* panels) {
  pack_one_by_one<T>(x, stride, columns, depth, panels);
}

template <typename T>
void pack(const T* x, int64_t stride, int64_t depth, int64_t columns, T* panels) {
  for (int64_t first = 0; first < columns; first += kPanelColumns) {
    const int64_t here = smaller(kPanelColumns, columns - first);
    const int64_t width = vectors_for(here) * kLanes;
    T* panel = panels + depth * first;
    for (int64_t k = 0; k < depth; ++k, panel += width) {
      memcpy(panel, x + k * stride + first, here * sizeof(T));
      if (here < width) memset(panel + here, 0, (width - here) * sizeof(T));
    }
  }
}

#ifdef __AVX512BF16__
// Keys and values are packed in each call. A vector of a panel is sixteen pairs of elements.
inline __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>(count < kLanes ? (1u << count) - 1 : 0xFFFF);
}

// Pairs lie side by side in x, one in each of its rows.
template <>
void pack_transposed(const Bf16* x, int64_t stride, int64_t columns, int64_t depth, Bf16* panels) {
  if (depth % 2 != 0) return pack_one_by_one<Bf16>(x, stride, columns, depth, panels);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i rows = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(stride)));
  for (int64_t first = 0; first < columns; first += kPanelColumns) {
    const int64_t vectors = smaller(kTileVectors, vectors_for(columns - first));
    for (int64_t j = 0; j < vectors; ++j) {
      const Bf16* from = x + (first + j * kLanes) * stride;
      const __mmask16 there = first_lanes(columns - first - j * kLanes);
      Bf16* to = panels + depth * first + j * 2 * kLanes;
      for (int64_t k = 0; k < depth; k += 2, to += vectors * 2 * kLanes) {
        _mm512_storeu_si512(to, _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), there, rows,
                                                            from + k, sizeof(Bf16)));
      }
    }
  }
}

// Pairs are of two rows of x, one below the other.
template <>
void pack(const Bf16* x, int64_t stride, int64_t depth, int64_t columns, Bf16* panels) {
  Bf16* to = panels;
  for (int64_t first = 0; first < columns; first += kPanelColumns) {
    const int64_t end = smaller(first + kPanelColumns, columns);
    for (int64_t k = 0; k < depth; k += 2) {
      for (int64_t j = first; j < end; j += kLanes, to += 2 * kLanes) {
        const __mmask16 there = first_lanes(end - j), below = k + 1 < depth ? there : 0;
        const Bf16* from = x + k * stride + j;
        const __m512i upper = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, from));
        const __m512i lower = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(below, from + stride));
        _mm512_storeu_si512(to, _mm512_or_si512(upper, _mm512_slli_epi32(lower, 16)));
      }
    }
  }
}
#endif

// Rows whose maxima are found before any exponential waits for one.
constexpr int64_t kSoftmaxRows = 8;

template <typename T>
void softmax(const TileSoftmax<T>& block) {
  const int64_t columns = block.columns;  // else read anew after each store
  const float scale = block.scale;
  for (int64_t first = 0; first < block.rows; first += kSoftmaxRows) {
    const int64_t end = smaller(first + kSoftmaxRows, block.rows);
    for (int64_t row = first; row < end; ++row) {
      const float* scores = block.scores + row * block.stride;
      Vec most = load(scores);
      for (int64_t j = kLanes; j < columns; j += kLanes) {
        most = larger(most, load(scores + j));
      }
      const float found = largest_of(most) * scale, before = block.maximum[row];
      block.maximum[row] = found > before ? found : before;
      block.factor[row] = before - block.maximum[row];
    }
    for (int64_t row = first; row < end; ++row) {
      const float* scores = block.scores + row * block.stride;
      T* weights = block.weights + row * block.weights_stride;
      const float maximum = block.maximum[row];
      Vec total = {};
      for (int64_t j = 0; j < columns; j += kLanes) {
        const Vec weight = exp2_of<T>(load(scores + j) * scale - maximum);
        total += weight;
        store(weights + j, weight);
      }
      const float factor = exp2_of(all(block.factor[row]))[0];
      block.factor[row] = factor;
      block.sum[row] = block.sum[row] * factor + sum_of(total);
    }
  }
}

template <typename T>
void scale(const float* x, float factor, int64_t count, T* out) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(out + i, load(x + i) * factor);
  for (; i < count; ++i) put(out + i, x[i] * factor);
}

template <typename From, typename T>
void normalise(const From* x, int64_t stride, int64_t rows, int64_t channels, T* out,
               int64_t out_stride) {
  const auto count = static_cast<float>(channels);
  const int64_t whole = channels / kLanes * kLanes;
  for (int64_t row = 0; row < rows; ++row, x += stride, out += out_stride) {
    Vec sums = {};
    for (int64_t j = 0; j < whole; j += kLanes) sums += load(x + j);
    float sum = sum_of(sums);
    for (int64_t j = whole; j < channels; ++j) sum += one(x + j);
    const float mean = sum / count;
    Vec squares = {};
    for (int64_t j = 0; j < whole; j += kLanes) {
      const Vec apart = load(x + j) - mean;
      squares += apart * apart;
    }
    float square = sum_of(squares);
    for (int64_t j = whole; j < channels; ++j) square += (one(x + j) - mean) * (one(x + j) - mean);
    const float factor = 1.0f / __builtin_sqrtf(square / count + kEpsilon);
    for (int64_t j = 0; j < whole; j += kLanes) store(out + j, (load(x + j) - mean) * factor);
    for (int64_t j = whole; j < channels; ++j) put(out + j, (one(x + j) - mean) * factor);
  }
}

template <typename T>
constexpr Tiles<T> tiles(const char* name) {
  return {.name = name,
          .lanes = kLanes,
          .panel_columns = kPanelColumns,
          .key_block = 240,  // whole panels of every instruction set
          .row_block = 256,
          .panel_size = panel_size<T>,
          .pack = pack<T>,
          .pack_transposed = pack_transposed<T>,
          .multiply = multiply<T>,
          .softmax = softmax<T>,
          .scale = scale<T>,
          .normalise = normalise<float, T>,
          .normalise_same = normalise<T, T>,
          .normalise_placed = normalise_placed<T>,
          .start_keys = start_keys,
          .start_query = start_query,
          .sum_places = sum_places<T>};
}

}  // namespace
}  // namespace perceiver
