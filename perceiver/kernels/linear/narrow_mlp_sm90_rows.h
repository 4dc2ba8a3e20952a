// A thread's share of a tile's rows in narrow_mlp_hopper: how it comes, LayerNorm's moments, and
// the factor of the product that it is. For device code of sm_90a alone.
#pragma once

#include <type_traits>

#include "perceiver/kernels/linear/gemm_sm90_finish.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_tile.h"
#include "perceiver/kernels/norm/epsilon.h"

namespace perceiver::hopper {

__device__ __forceinline__ uint4 load_16_bytes(const void* from) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}
__device__ __forceinline__ uint32_t load_4_bytes(const void* from) {
  uint32_t v;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(from));
  return v;
}

// Two neighbouring elements; of bfloat16 each is the upper half of a float.
template <typename T>
__device__ __forceinline__ float2 halves_of(uint32_t word) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u)};
  } else {
    return unpacked<T>(word);
  }
}

struct MlpNorm {
  float mean, rstd, deviation;
};

// Two rows, the second eight below the first; as TileSums of gemm_sm90_finish.h, whose rows
// the product's sums are.
template <class Tile>
struct MlpRows {
  using T = typename Tile::Element;
  uint4 wide[2][kMlpGroups];
  uint32_t tail[2];

  // Rows behind the last are the last once more.
  __device__ __forceinline__ void load(const NarrowMlp& p, int64_t row) {
    const int lane = threadIdx.x % 4, in = static_cast<int>(p.sizes.in);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t there = min(row + 8 * half, p.rows - 1);
      const T* const from = static_cast<const T*>(p.x) + there * p.x_stride;
      const T* const wide_from = from + 8 * lane;
      const T* const tail_from = from + 2 * lane + 32 * kMlpGroups;
#pragma unroll
      for (int i = 0; i < kMlpGroups; ++i) {
        wide[half][i] =
            Tile::kFull || 32 * i + 8 * lane < in ? load_16_bytes(wide_from + 32 * i) : uint4{};
      }
      const bool has_tail = Tile::kFull || 32 * kMlpGroups < in;
      tail[half] = has_tail ? load_4_bytes(tail_from) : 0;
    }
  }

  // `share` is 1 / channels. Sums are taken from a number on that is near the mean, that of 32
  // channels, so that a large mean does not cost digits.
  __device__ __forceinline__ MlpNorm norm(int half, int channels, float share) const {
    constexpr auto kEpsilon = static_cast<float>(kNormEpsilon);
    float first = 0;
    each_word(wide[half][0], 0, [&](uint32_t word, int channel) {
      const float2 x = halves_of<T>(word);
      first += counts(channel, channels) ? x.x : 0.0f;
      first += counts(channel + 1, channels) ? x.y : 0.0f;
    });
    const float origin = quad_sum(first) * (Tile::kFull ? 1.0f / 32 : 1.0f / min(channels, 32));
    float sum = 0, squares[4] = {};
#pragma unroll
    for (int i = 0; i < kMlpGroups; ++i) {
      float away[8];
      const uint32_t words[] = {wide[half][i].x, wide[half][i].y, wide[half][i].z, wide[half][i].w};
      const int channel = 32 * i + 8 * static_cast<int>(threadIdx.x % 4);
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        const float2 x = halves_of<T>(words[j / 2]);
        away[j] = counts(channel + j, channels) ? x.x - origin : 0.0f;
        away[j + 1] = counts(channel + j + 1, channels) ? x.y - origin : 0.0f;
      }
      sum +=
          ((away[0] + away[1]) + (away[2] + away[3])) + ((away[4] + away[5]) + (away[6] + away[7]));
#pragma unroll
      for (int j = 0; j < 8; ++j) squares[j % 4] += away[j] * away[j];
    }
    const float2 x = halves_of<T>(tail[half]);
    const int channel = 32 * kMlpGroups + 2 * static_cast<int>(threadIdx.x % 4);
    const float2 last = {channel < channels ? x.x - origin : 0.0f,
                         channel + 1 < channels ? x.y - origin : 0.0f};
    sum += last.x + last.y;
    squares[0] += last.x * last.x, squares[1] += last.y * last.y;
    const float mean = quad_sum(sum) * share;
    const float variance =
        quad_sum((squares[0] + squares[1]) + (squares[2] + squares[3])) * share - mean * mean;
    const float square = fmaxf(variance, 0.0f) + kEpsilon, rstd = rsqrtf(square);
    return {origin + mean, rstd, square * rstd};
  }

 private:
  static __device__ __forceinline__ bool counts(int channel, int channels) {
    return Tile::kFull || channel < channels;
  }
  // f(word, its first channel)
  template <typename Function>
  static __device__ __forceinline__ void each_word(const uint4& words, int group, Function f) {
    const int first = group + 8 * static_cast<int>(threadIdx.x % 4);
    f(words.x, first), f(words.y, first + 2), f(words.z, first + 4), f(words.w, first + 6);
  }
};

// Rows as the left factor of the product, and what it leaves to be done.
template <class Tile>
struct MlpFactor {
  using T = typename Tile::Element;
  uint32_t at[kMlpSteps][4];  // of each step two words of either row
  MlpNorm norm[2];

  __device__ __forceinline__ void set(const MlpRows<Tile>& rows, int channels, float share) {
#pragma unroll
    for (int i = 0; i < kMlpGroups; ++i) {
      const uint4 upper = rows.wide[0][i], lower = rows.wide[1][i];
      set(2 * i, upper.x, lower.x, upper.y, lower.y);
      set(2 * i + 1, upper.z, lower.z, upper.w, lower.w);
    }
    norm[0] = rows.norm(0, channels, share), norm[1] = rows.norm(1, channels, share);
    set(kMlpSteps - 1, rows.tail[0], rows.tail[1], norm_word(norm[0]), norm_word(norm[1]));
  }

 private:
  __device__ __forceinline__ void set(int step, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    at[step][0] = a, at[step][1] = b, at[step][2] = c, at[step][3] = d;
  }

  // The eight factors of norm_weight(), two in each thread of the quad.
  static __device__ __forceinline__ uint32_t norm_word(const MlpNorm& norm) {
    const auto behind = [](float x) { return x - to_float(from_float<T>(x)); };
    const int lane = threadIdx.x % 4;
    const float mean_1 = behind(norm.mean), deviation_1 = behind(norm.deviation);
    const float mean = lane == 0 ? norm.mean : mean_1;
    const uint32_t means = pack(T{}, mean, mean);
    const uint32_t third = pack(T{}, behind(mean_1), norm.deviation);
    return lane < 2 ? means : lane == 2 ? third : pack(T{}, deviation_1, 0.0f);
  }
};

}  // namespace perceiver::hopper
