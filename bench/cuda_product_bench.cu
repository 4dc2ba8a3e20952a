// product_hopper against the same in double, then its times at the paper's sizes. One line, from
// the root of the repository:
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -cudart static
//     bench/cuda_{bench,product_bench}.cu perceiver/kernels/{cuda/tma_map,linear/gemm_sm90}.cu
//     -o product_bench && ./product_bench [check | time]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "bench/cuda_bench.h"
#include "perceiver/kernels/linear/gemm_sm90.h"

namespace perceiver::bench {
namespace {

constexpr auto kF32 = CudaDtype::kFloat32, kBf16 = CudaDtype::kBFloat16, kF16 = CudaDtype::kFloat16;

struct TileName {
  ProductTiles tiles;
  const char* name;
};
constexpr TileName kTiles[] = {{ProductTiles::k64x40, "64x40"},
                               {ProductTiles::k64x64, "64x64"},
                               {ProductTiles::k128x64, "128x64"},
                               {ProductTiles::k128x192, "128x192"}};

struct Shape {
  int64_t rows, in, out;
  int64_t channels, result_channels;  // without padding
  bool gelu = false, added = false;   // else normed
  CudaDtype dtype = kBf16;
};

std::string describe(const Shape& s) {
  std::string text = std::to_string(s.rows) + " x " + std::to_string(s.in) + " into " +
                     std::to_string(s.out) + " " + name_of(s.dtype);
  return text + (s.added ? ", added" : s.gelu ? ", normed, gelu" : ", normed");
}

constexpr int64_t kMost = 99'991;  // a prime: repeated, no two rows are alike

// Rows of x with a mean, and moments of them in parts of 100 channels.
struct Problem {
  static constexpr int kPart = 100;
  Shape s;
  int copies;  // of the weight: as many layers
  DeviceArray x, weight, bias, residual, sums, moments, result, result_moments;

  explicit Problem(const Shape& shape, int num_copies = 1)
      : s(shape),
        copies(num_copies),
        x(s.dtype, s.rows * s.in),
        weight(s.dtype, s.out * s.in * copies),
        bias(s.dtype, s.out),
        residual(s.dtype, s.rows * s.out),
        sums(kF32, s.out),
        moments(kF32, s.rows * parts() * 2),
        result(s.dtype, s.rows * s.out),
        result_moments(kF32, s.rows * 2 * ((s.out + 31) / 32)) {
    x.set(random_values(std::min(x.count(), kMost), 0.5f));
    weight.set(random_values(std::min(weight.count(), kMost - 2), 0.0f,
                             1.0f / std::sqrt(static_cast<float>(s.in))));
    bias.set(random_values(s.out));
    residual.set(random_values(std::min(residual.count(), kMost)));
    if (s.result_channels < s.out) clear_padding();
  }
  // What is padding in the result is zero in all that it is made of.
  void clear_padding() {
    const auto clear = [&](DeviceArray& array, int64_t rows, int64_t columns, auto is_padding) {
      std::vector<float> values = array.get();
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          if (is_padding(i, j)) values[i * columns + j] = 0;
        }
      }
      array.set(values);
    };
    clear(weight, s.out, s.in, [&](int64_t i, int64_t) { return i >= s.result_channels; });
    clear(bias, 1, s.out, [&](int64_t, int64_t j) { return j >= s.result_channels; });
    clear(residual, s.rows, s.out, [&](int64_t, int64_t j) { return j >= s.result_channels; });
  }
  int parts() const { return static_cast<int>((s.channels + kPart - 1) / kPart); }

  void set_moments() {
    const std::vector<float> rows = x.get(), w = weight.get();
    std::vector<float> all;
    for (int64_t row = 0; row < s.rows; ++row) {
      for (int64_t part = 0; part < s.channels; part += kPart) {
        const int64_t end = std::min<int64_t>(s.channels, part + kPart);
        double mean = 0, squares = 0;
        for (int64_t c = part; c < end; ++c) mean += rows[row * s.in + c] / double(end - part);
        for (int64_t c = part; c < end; ++c) squares += std::pow(rows[row * s.in + c] - mean, 2);
        all.push_back(static_cast<float>(mean));
        all.push_back(static_cast<float>(squares));
      }
    }
    moments.set(all);
    std::vector<float> column(s.out);
    for (int64_t n = 0; n < s.out; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < s.in; ++k) sum += w[n * s.in + k];
      column[n] = static_cast<float>(sum);
    }
    sums.set(column);
  }

  HopperProduct product(ProductTiles tiles, int copy = 0) const {
    HopperProduct p{.bfloat16 = s.dtype == kBf16,
                    .rows = s.rows,
                    .in = s.in,
                    .out = s.out,
                    .x = x.data(),
                    .x_stride = s.in,
                    .weight = static_cast<const uint16_t*>(weight.data()) + copy * s.out * s.in,
                    .bias = bias.data(),
                    .x_channels = s.channels,
                    .column_sums = sums.floats(),
                    .gelu = s.gelu,
                    .result_channels = s.result_channels,
                    .result = result.data(),
                    .result_stride = s.out};
    if (!s.added) p.x_moments = {static_cast<Moments*>(moments.data()), parts(), kPart};
    if (s.added) {
      const int width = columns_of(tiles);
      p.residual = residual.data(), p.residual_stride = s.out;
      p.result_moments = {static_cast<Moments*>(result_moments.data()),
                          static_cast<int>((s.out + width - 1) / width), width};
    }
    return p;
  }
};

// A few rows of it, by the definition.
void check_product(const Shape& s, const TileName& t) {
  Problem problem(s);
  if (!s.added) problem.set_moments();
  CUDA_OK(product_hopper(problem.product(t.tiles), t.tiles, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  const std::vector<float> x = problem.x.get(), w = problem.weight.get(), b = problem.bias.get();
  const std::vector<float> r = problem.residual.get(), got = problem.result.get();
  const std::vector<float> moments = problem.result_moments.get();
  const std::string where = describe(s) + " by " + t.name;
  const int width = columns_of(t.tiles);
  const int64_t parts = (s.out + width - 1) / width;
  for (int64_t row = 0; row < s.rows; row += std::max<int64_t>(1, s.rows / 9)) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < s.channels; ++c) mean += x[row * s.in + c] / double(s.channels);
    for (int64_t c = 0; c < s.channels; ++c) {
      variance += std::pow(x[row * s.in + c] - mean, 2) / double(s.channels);
    }
    const double scale = !s.added ? 1 / std::sqrt(variance + 1e-5) : 1;
    std::vector<double> expected;
    for (int64_t n = 0; n < s.out; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < s.in; ++k) {
        sum += (x[row * s.in + k] - (s.added ? 0 : mean)) * scale * w[n * s.in + k];
      }
      sum += b[n];
      if (s.gelu) sum *= 0.5 * (1 + std::tanh(0.7978845608 * (sum + 0.044715 * sum * sum * sum)));
      if (s.added) sum += r[row * s.out + n];
      expected.push_back(sum);
    }
    const std::vector<float> values(got.begin() + row * s.out, got.begin() + (row + 1) * s.out);
    expect_near(values, expected, tolerance(s.dtype), 2e-4, where.c_str());
    if (!s.added) continue;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = part * width, end = std::min(s.result_channels, begin + width);
      if (begin >= end) continue;
      double m = 0, q = 0;
      for (int64_t c = begin; c < end; ++c) m += values[c] / double(end - begin);
      for (int64_t c = begin; c < end; ++c) q += std::pow(values[c] - m, 2);
      const float* at = moments.data() + (row * parts + part) * 2;
      expect_near({at[0], at[1]}, {m, q}, 1e-5, 1e-5, (where + ", moments").c_str());
    }
  }
  expect(problem.result.margin_is_untouched(), "%s: nothing behind the result", where.c_str());
}

bool check() {
  begin_section("product_hopper");
  for (const TileName& t : kTiles) {
    for (const CudaDtype dtype : {kBf16, kF16}) {
      check_product({300, 328, 328, 322, 322, false, false, dtype}, t);
      check_product({300, 328, 328, 322, 322, false, true, dtype}, t);
      check_product({1000, 64, 40, 64, 33, false, true, dtype}, t);
      check_product({50, 1288, 8, 1281, 8, true, false, dtype}, t);
    }
    check_product({8192, 1280, 1280, 1280, 1280, true}, t);
    check_product({8192, 1280, 1280, 1280, 1280, false, true}, t);
    check_product({256, 1280, 1792, 1280, 1792}, t);
    check_product({1, 8, 8, 8, 8}, t);
  }
  return end_section();
}

void time(const Shape& s) {
  const int copies = static_cast<int>(std::clamp<int64_t>((64 << 20) / (s.in * s.out * 2), 4, 24));
  const Problem problem(s, copies);
  std::printf("%-70s", describe(s).c_str());
  for (const TileName& t : kTiles) {
    const double us = microseconds(copies, [&](int i, cudaStream_t stream) {
      CUDA_OK(product_hopper(problem.product(t.tiles, i), t.tiles, stream));
    });
    std::printf("  %s %.1f us, %.0f", t.name, us, 2e-6 * s.rows * s.in * s.out / us);
  }
  std::printf(" TFLOP/s; chosen: %d columns\n", columns_of(quickest_tiles(s.rows, s.in, s.out)));
}

void time_all() {
  struct Layers {
    int64_t rows, channels, qkv;
  };
  for (const Layers& l : {Layers{256, 1280, 1792},
                          {8192, 1280, 1792},
                          {2048, 512, 1536},
                          {4096, 512, 1536},
                          {512, 1024, 3072},
                          {16384, 1024, 3072}}) {
    time({l.rows, l.channels, l.qkv, l.channels, l.qkv});
    time({l.rows, l.channels, l.channels, l.channels, l.channels, false, true});
    time({l.rows, l.channels, l.channels, l.channels, l.channels, true});
  }
}

}  // namespace
}  // namespace perceiver::bench

int main(int count, char** words) {
  using namespace perceiver::bench;
  return check_and_time(count, words, check, time_all);
}
