// The CUDA kernels over rows, scores and parameters against the same in double, then their times at
// the paper's sizes. One line, from the root of the repository:
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90,code=sm_90 -cudart static
//     bench/cuda_{bench,rows_bench,pieces_bench,optimizer_bench}.cu
//     perceiver/kernels/{norm/normalise,attention/score_blocks,optimizer/optimizer_step}.cu
//     perceiver/kernels/optimizer/parameter_table.cpp -o rows_bench && ./rows_bench
#include <cmath>
#include <cstdio>
#include <string>

#include "bench/cuda_bench.h"
#include "perceiver/kernels/norm/normalise.h"

namespace perceiver::bench {
namespace {

constexpr auto kF32 = CudaDtype::kFloat32, kBf16 = CudaDtype::kBFloat16, kF16 = CudaDtype::kFloat16;
constexpr int64_t kChannels[] = {1, 5, 24, 261, 322, 512, 768, 1020, 1024, 1025, 1280, 2048};

struct Dtypes {
  CudaDtype in, out;
};
constexpr Dtypes kDtypes[] = {
    {kF32, kF32}, {kF32, kBf16}, {kF32, kF16}, {kBf16, kBf16}, {kF16, kF16}};

std::string describe(const RowShape& s, const Dtypes& d) {
  return std::to_string(s.rows) + " x " + std::to_string(s.channels) + " of " +
         std::to_string(s.stride) + " -> " + std::to_string(s.out_stride) + ", " + name_of(d.in) +
         " -> " + name_of(d.out);
}

std::vector<double> normalised(const RowShape& s, const std::vector<float>& x) {
  std::vector<double> out;
  for (int64_t row = 0; row < s.rows; ++row) {
    const float* from = x.data() + row * s.stride;
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < s.channels; ++c) mean += from[c] / static_cast<double>(s.channels);
    for (int64_t c = 0; c < s.channels; ++c) variance += std::pow(from[c] - mean, 2) / s.channels;
    for (int64_t c = 0; c < s.out_stride; ++c) {
      const double padding = s.constant && c == s.channels ? 1 : 0;
      out.push_back(c < s.channels ? (from[c] - mean) / std::sqrt(variance + 1e-5) : padding);
    }
  }
  return out;
}

void check_normalise(const RowShape& s, const Dtypes& d) {
  const std::string where = describe(s, d);
  DeviceArray x(d.in, s.rows * s.stride), out(d.out, s.rows * s.out_stride);
  x.set(random_values(x.count(), 3, 2));
  CUDA_OK(normalise(s, d.in, x.data(), d.out, out.data(), nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  expect_near(out.get(), normalised(s, x.get()), tolerance(d.out), 5e-6, where.c_str());
  expect(out.margin_is_untouched(), "%s: nothing behind the rows is written", where.c_str());
}

void check_add_normalise(const RowShape& s, const Dtypes& d) {
  const std::string where = "sum of " + describe(s, d);
  DeviceArray z(d.in, s.rows * s.stride), y(d.in, z.count()), out(d.out, s.rows * s.out_stride);
  z.set(random_values(z.count(), 1, 2));
  y.set(random_values(y.count()));
  const std::vector<float> before = z.get(), added = y.get();
  std::vector<double> sum;
  for (size_t i = 0; i < before.size(); ++i) sum.push_back(rounded(d.in, before[i] + added[i]));
  CUDA_OK(add_normalise(s, d.in, z.data(), y.data(), s.rows, d.out, out.data(), nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  expect_near(z.get(), sum, 0, 0, where.c_str());
  expect_near(out.get(), normalised(s, z.get()), tolerance(d.out), 5e-6, where.c_str());
  expect(z.margin_is_untouched() && out.margin_is_untouched(), "%s: margins", where.c_str());
}

void check_refusals() {
  DeviceArray x(kF32, 4096);
  const auto refused = [&](const RowShape& s, CudaDtype in, CudaDtype out) {
    return normalise(s, in, x.data(), out, x.data(), nullptr) == cudaErrorInvalidValue;
  };
  expect(refused({1, 2049, 2049, 2049}, kF32, kF32), "2049 channels are refused");
  expect(refused({1, 8, 8, 8, true}, kF32, kF32), "a constant without room is refused");
  expect(refused({1, 8, 8, 8}, kBf16, kF32), "bf16 to float32 is refused");
}

// Sets of arrays that together are larger than the cache, or one that stays in it.
void time_normalise(const RowShape& s, const Dtypes& d, bool adds, int sets) {
  std::vector<DeviceArray> x, y, out;
  const std::vector<float> values = random_values(1 << 20);
  for (int i = 0; i < sets; ++i) {
    x.emplace_back(d.in, s.rows * s.stride).set(values);
    // Zeros, or the sum would grow from launch to launch.
    if (adds) y.emplace_back(d.in, s.rows * s.stride).set({0.0f});
    out.emplace_back(d.out, s.rows * s.out_stride);
  }
  const double time = microseconds(40, [&](int i, cudaStream_t stream) {
    i %= sets;
    CUDA_OK(adds ? add_normalise(s, d.in, x[i].data(), y[i].data(), s.rows, d.out, out[i].data(),
                                 stream)
                 : normalise(s, d.in, x[i].data(), d.out, out[i].data(), stream));
  });
  const double read = 1.0 * s.rows * s.channels * bytes_of(d.in);
  const double written = 1.0 * s.rows * s.out_stride * bytes_of(d.out);
  const std::string name = (adds ? "add_normalise " : "normalise ") + std::to_string(s.rows) + "x" +
                           std::to_string(s.channels) + "->" + std::to_string(s.out_stride) + " " +
                           name_of(d.in) + (sets == 1 ? " cached" : "");
  print_time(name.c_str(), time, (adds ? 3 : 1) * read + written);
}

}  // namespace

bool check_rows() {
  begin_section("normalise");
  for (const Dtypes& d : kDtypes) {
    for (const int64_t C : kChannels) {
      const int64_t padded = C / 16 * 16 + 16;
      check_normalise({1, C, C, C}, d);
      check_normalise({37, C, C, padded, true}, d);
      check_normalise({131, C, padded + 8, padded + 160, true}, d);
      check_normalise({6, C, C + 1, C + 3}, d);
    }
  }
  check_refusals();
  const bool good = end_section();
  begin_section("add_normalise");
  for (const Dtypes& d : kDtypes) {
    for (const int64_t C : kChannels) {
      check_add_normalise({1, C, C, C}, d);
      check_add_normalise({133, C, C, C / 16 * 16 + 16, true}, d);
    }
  }
  return end_section() && good;
}

void time_rows() {
  const RowShape flow = {182'528, 322, 322, 336, true}, process = {8192, 1280, 1280, 1280},
                 language = {256, 1280, 1280, 1280};
  time_normalise(flow, {kBf16, kBf16}, false, 4);
  time_normalise(flow, {kF32, kBf16}, false, 4);
  time_normalise({50'176, 261, 261, 272, true}, {kBf16, kBf16}, false, 8);
  time_normalise({2048, 512, 512, 512}, {kBf16, kBf16}, false, 1);
  time_normalise(process, {kBf16, kBf16}, false, 10);
  time_normalise(process, {kBf16, kBf16}, false, 1);
  time_normalise(language, {kBf16, kBf16}, false, 1);
  time_normalise(process, {kBf16, kBf16}, true, 10);
  time_normalise(process, {kBf16, kBf16}, true, 1);
  time_normalise(language, {kBf16, kBf16}, true, 1);
}

}  // namespace perceiver::bench

int main() {
  using namespace perceiver::bench;
  cudaDeviceProp device;
  CUDA_OK(cudaGetDeviceProperties(&device, 0));
  const bool rows = check_rows(), pieces = check_attention_pieces(), optimizer = check_optimizer();
  std::printf("%s, copy %.0f GB/s\n", device.name, copy_rate() / 1e9);
  time_rows();
  time_attention_pieces();
  time_optimizer();
  return rows && pieces && optimizer ? 0 : 1;
}
