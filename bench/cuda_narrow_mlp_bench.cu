// narrow_mlp_hopper against the same in double, then its times at optical flow's sizes. One line,
// from the root of the repository:
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -cudart static
//     bench/cuda_{bench,narrow_mlp_bench}.cu perceiver/kernels/linear/narrow_mlp_sm90.cu
//     -o narrow_mlp_bench && ./narrow_mlp_bench [check | time]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "bench/cuda_bench.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90.h"

namespace perceiver::bench {
namespace {

constexpr auto kBf16 = CudaDtype::kBFloat16, kF16 = CudaDtype::kFloat16;

enum class Riders { kNone, kApart, kInX };  // in x: behind its channels

struct Shape {
  int64_t rows;
  NarrowMlpSizes sizes = {328, 322, 328, 2};
  Riders riders = Riders::kInX;
  float mean = 0.5f;
  CudaDtype dtype = kBf16;
};

std::string describe(const Shape& s) {
  constexpr const char* kRiders[] = {"none", "apart", "in x"};
  char text[160];
  std::snprintf(text, sizeof text, "%lld x %lld of %lld, %lld, %lld %s, riders %s, mean %g",
                static_cast<long long>(s.rows), static_cast<long long>(s.sizes.channels),
                static_cast<long long>(s.sizes.in), static_cast<long long>(s.sizes.hidden),
                static_cast<long long>(s.sizes.out), name_of(s.dtype),
                kRiders[static_cast<int>(s.riders)], s.mean);
  return text;
}

constexpr int64_t kMost = 99'991;  // a prime: repeated, no two rows are alike

struct Problem {
  Shape s;
  DeviceArray x, widen, widen_bias, narrow, narrow_bias, riders, packed, result;

  explicit Problem(const Shape& shape)
      : s(shape),
        x(s.dtype, s.rows * s.sizes.in),
        widen(s.dtype, s.sizes.hidden * s.sizes.in),
        widen_bias(s.dtype, s.sizes.hidden),
        narrow(s.dtype, s.sizes.out * s.sizes.hidden),
        narrow_bias(s.dtype, s.sizes.out),
        riders(s.dtype, s.rows * s.sizes.out),
        packed(CudaDtype::kFloat32, narrow_mlp_packed_bytes(s.sizes.out) / 4),
        result(s.dtype, s.rows * s.sizes.out) {
    const auto [in, channels, hidden, out] = s.sizes;
    x.set(random_values(std::min(x.count(), kMost), s.mean));
    std::vector<float> weights =
        random_values(hidden * in, 0.0f, 1.0f / std::sqrt(static_cast<float>(channels)));
    for (int64_t i = 0; i < hidden * in; ++i) {
      if (i % in >= channels) weights[i] = 0;
    }
    widen.set(weights);
    widen_bias.set(random_values(hidden));
    narrow.set(random_values(out * hidden, 0.0f, 1.0f / std::sqrt(static_cast<float>(hidden))));
    narrow_bias.set(random_values(out));
    riders.set(random_values(std::min(riders.count(), kMost)));
    CUDA_OK(pack_narrow_mlp({.bfloat16 = s.dtype == kBf16,
                             .sizes = s.sizes,
                             .widen = widen.data(),
                             .widen_bias = widen_bias.data(),
                             .narrow = narrow.data(),
                             .narrow_bias = narrow_bias.data()},
                            packed.data(), nullptr));
    CUDA_OK(cudaDeviceSynchronize());
  }
  int64_t first_rider() const { return s.sizes.in - s.sizes.out; }

  NarrowMlp mlp() const {
    NarrowMlp p{.bfloat16 = s.dtype == kBf16,
                .sizes = s.sizes,
                .rows = s.rows,
                .x = x.data(),
                .x_stride = s.sizes.in,
                .packed = packed.data(),
                .riders = nullptr,
                .riders_stride = 0,
                .result = result.data(),
                .result_stride = s.sizes.out};
    if (s.riders == Riders::kApart) p.riders = riders.data(), p.riders_stride = s.sizes.out;
    if (s.riders == Riders::kInX) {
      p.riders = static_cast<const uint16_t*>(x.data()) + first_rider();
      p.riders_stride = s.sizes.in;
    }
    return p;
  }
};

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

// All in double; `separate` rounds what three kernels would write, a layer each.
struct Definition {
  const Problem& problem;
  std::vector<float> x, widen, widen_bias, narrow, narrow_bias, riders;

  explicit Definition(const Problem& p)
      : problem(p),
        x(p.x.get()),
        widen(p.widen.get()),
        widen_bias(p.widen_bias.get()),
        narrow(p.narrow.get()),
        narrow_bias(p.narrow_bias.get()),
        riders(p.riders.get()) {}

  std::vector<double> row(int64_t index, bool separate) const {
    const auto [in, channels, hidden, out] = problem.s.sizes;
    const auto round = [&](double value) {
      return separate ? double{rounded(problem.s.dtype, static_cast<float>(value))} : value;
    };
    const float* const from = x.data() + index * in;
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < channels; ++c) mean += from[c] / double(channels);
    for (int64_t c = 0; c < channels; ++c) variance += std::pow(from[c] - mean, 2);
    const double rstd = 1 / std::sqrt(variance / double(channels) + 1e-5);
    std::vector<double> normed(channels), result(out);
    for (int64_t c = 0; c < channels; ++c) normed[c] = round((from[c] - mean) * rstd);
    for (int64_t o = 0; o < out; ++o) result[o] = narrow_bias[o];
    for (int64_t h = 0; h < hidden; ++h) {
      double sum = widen_bias[h];
      for (int64_t c = 0; c < channels; ++c) sum += normed[c] * widen[h * in + c];
      sum = round(gelu(sum));
      for (int64_t o = 0; o < out; ++o) result[o] += sum * narrow[o * hidden + h];
    }
    for (int64_t o = 0; o < out; ++o) {
      if (problem.s.riders == Riders::kApart) result[o] += riders[index * out + o];
      if (problem.s.riders == Riders::kInX) result[o] += from[problem.first_rider() + o];
      result[o] = round(result[o]);
    }
    return result;
  }
};

void check_mlp(const Shape& s) {
  const std::string where = describe(s);
  expect(narrow_mlp_takes(s.sizes), "%s: is taken", where.c_str());
  const Problem problem(s);
  CUDA_OK(narrow_mlp_hopper(problem.mlp(), nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  const Definition definition(problem);
  const std::vector<float> got = problem.result.get();
  const int64_t out = s.sizes.out, step = std::max<int64_t>(1, s.rows / 150);
  double error = 0, separate_error = 0, largest = 0, squares = 0, separate_squares = 0;
  int64_t count = 0;
  for (int64_t row = 0; row < s.rows;
       row += row + step < s.rows || row == s.rows - 1 ? step : s.rows - 1 - row) {
    const std::vector<double> exact = definition.row(row, false);
    const std::vector<double> separate = definition.row(row, true);
    for (int64_t o = 0; o < out; ++o, ++count) {
      const double away = std::abs(got[row * out + o] - exact[o]);
      const double separate_away = std::abs(separate[o] - exact[o]);
      error = std::isnan(away) ? away : std::max(error, away);
      separate_error = std::max(separate_error, separate_away);
      largest = std::max(largest, std::abs(exact[o]));
      squares += away * away, separate_squares += separate_away * separate_away;
    }
  }
  // The last rounding is everybody's; of few numbers the others may all be lucky.
  const double allowed = 2 * separate_error + largest * tolerance(s.dtype) / 2;
  std::printf("%-74s error %.2e, rms %.2e; of separate kernels %.2e, rms %.2e\n", where.c_str(),
              error, std::sqrt(squares / double(count)), separate_error,
              std::sqrt(separate_squares / double(count)));
  expect(error <= allowed, "%s: error %g, allowed %g", where.c_str(), error, allowed);
  expect(std::none_of(got.begin(), got.end(), [](float v) { return std::isnan(v); }),
         "%s: every row is there", where.c_str());
  expect(problem.result.margin_is_untouched(), "%s: nothing behind the result", where.c_str());
}

bool check() {
  begin_section("narrow_mlp_hopper");
  for (const CudaDtype dtype : {kBf16, kF16}) {
    for (const int64_t rows : {1, 7, 63, 64, 65, 127, 128, 129, 1000, 20000, 182528}) {
      check_mlp({.rows = rows, .dtype = dtype});
    }
    for (const int64_t out : {1, 2, 3, 5, 8}) {
      for (const Riders riders : {Riders::kNone, Riders::kApart, Riders::kInX}) {
        if (riders == Riders::kInX && out > 6) continue;
        check_mlp({.rows = 300, .sizes = {328, 322, 328, out}, .riders = riders, .dtype = dtype});
      }
    }
    for (const float mean : {0.0f, -4.0f, 30.0f}) {
      check_mlp({.rows = 300, .mean = mean, .dtype = dtype});
    }
    for (const NarrowMlpSizes& sizes : {NarrowMlpSizes{328, 328, 328, 2},
                                        {328, 321, 320, 2},
                                        {328, 100, 328, 2},
                                        {264, 261, 264, 2},
                                        {264, 261, 264, 8},
                                        {64, 64, 64, 2},
                                        {16, 16, 16, 1},
                                        {16, 9, 24, 3},
                                        {8, 8, 8, 8}}) {
      check_mlp({.rows = 300, .sizes = sizes, .riders = Riders::kApart, .dtype = dtype});
      check_mlp({.rows = 70, .sizes = sizes, .riders = Riders::kNone, .mean = 9, .dtype = dtype});
    }
  }
  for (const NarrowMlpSizes& sizes : {NarrowMlpSizes{336, 322, 328, 2},
                                      {324, 322, 328, 2},
                                      {328, 329, 328, 2},
                                      {328, 322, 336, 2},
                                      {328, 322, 328, 9}}) {
    expect(!narrow_mlp_takes(sizes), "%lld, %lld, %lld, %lld is not taken",
           static_cast<long long>(sizes.in), static_cast<long long>(sizes.channels),
           static_cast<long long>(sizes.hidden), static_cast<long long>(sizes.out));
  }
  return end_section();
}

void time(const Shape& s) {
  const Problem problem(s);
  const double us = microseconds(
      6, [&](int, cudaStream_t stream) { CUDA_OK(narrow_mlp_hopper(problem.mlp(), stream)); });
  const auto [in, channels, hidden, out] = s.sizes;
  std::printf("%-74s %7.1f us, %4.0f TFLOP/s, %4.2f TB/s\n", describe(s).c_str(), us,
              2e-6 * static_cast<double>(s.rows * hidden * (channels + out)) / us,
              2e-6 * static_cast<double>(s.rows * (in + out)) / us);
}

void time_all() {
  for (const CudaDtype dtype : {kBf16, kF16}) {
    for (const int64_t batch : {1, 6}) time({.rows = batch * 182528, .dtype = dtype});
  }
  for (const int64_t rows : {1, 8448, 16896}) time({.rows = rows});
  time({.rows = 182528, .sizes = {328, 322, 328, 6}});
  time({.rows = 182528, .sizes = {264, 261, 264, 2}});
}

}  // namespace
}  // namespace perceiver::bench

int main(int count, char** words) {
  using namespace perceiver::bench;
  return check_and_time(count, words, check, time_all);
}
