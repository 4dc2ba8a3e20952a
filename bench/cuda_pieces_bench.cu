#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "bench/cuda_bench.h"
#include "perceiver/kernels/attention/score_blocks.h"

namespace perceiver::bench {
namespace {

constexpr float kScale = 0.125f;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Scores with their mask and normalisers. What is masked, or between the rows, is NaN.
struct Scores {
  ScoreBlock block;
  DeviceArray scores, normalisers;
  std::vector<uint8_t> mask;
  uint8_t* device_mask = nullptr;

  Scores(const ScoreBlock& b, bool masked)
      : block(b),
        scores(b.dtype, b.rows * b.stride),
        normalisers(CudaDtype::kFloat32, b.rows),
        mask((b.rows / b.rows_per_mask + 1) * b.keys, 1) {
    block.mask_stride = b.keys;
    std::vector<float> values = random_values(scores.count(), 0, 10);
    if (masked) draw_mask();
    for (int64_t row = 0; row < b.rows; ++row) {
      for (int64_t key = 0; key < b.stride; ++key) {
        if (key >= b.keys || !has(row, key)) values[row * b.stride + key] = NAN;
      }
    }
    scores.set(values);
    set_normalisers();
  }
  ~Scores() { cudaFree(device_mask); }

  bool has(int64_t row, int64_t key) const {
    return mask[row / block.rows_per_mask * block.keys + key] != 0;
  }
  // The second group of rows has no key at all.
  void draw_mask() {
    const std::vector<float> draws = random_values(static_cast<int64_t>(mask.size()));
    for (size_t i = 0; i < mask.size(); ++i) {
      mask[i] = draws[i] > 0 && static_cast<int64_t>(i) / block.keys != 1;
    }
    CUDA_OK(cudaMalloc(&device_mask, mask.size()));
    CUDA_OK(cudaMemcpy(device_mask, mask.data(), mask.size(), cudaMemcpyHostToDevice));
    block.kv_mask = device_mask;
  }
  void set_normalisers() {
    const std::vector<float> s = scores.get();
    std::vector<float> values;
    for (int64_t row = 0; row < block.rows; ++row) {
      double sum = 0;
      for (int64_t key = 0; key < block.keys; ++key) {
        if (has(row, key)) sum += std::exp(double{kScale} * s[row * block.stride + key]);
      }
      values.push_back(static_cast<float>(std::log(sum)));
    }
    normalisers.set(values);
  }
};

// The M of each row, without what lies between rows.
std::vector<float> keys_of(const DeviceArray& array, const ScoreBlock& b) {
  const std::vector<float> all = array.get();
  std::vector<float> keys;
  for (int64_t row = 0; row < b.rows; ++row) {
    const auto begin = all.begin() + row * b.stride;
    keys.insert(keys.end(), begin, begin + b.keys);
  }
  return keys;
}

std::vector<double> expected_weights(const Scores& in) {
  const std::vector<float> s = keys_of(in.scores, in.block), normalisers = in.normalisers.get();
  std::vector<double> expected;
  for (size_t i = 0; i < s.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / in.block.keys, key = i % in.block.keys;
    const double normaliser = normalisers[row];
    const bool some = in.has(row, key) && normaliser != -kInfinity;
    expected.push_back(some ? std::exp(double{kScale} * s[i] - normaliser) : 0.0);
  }
  return expected;
}

void check_block(const ScoreBlock& b, bool masked) {
  const Scores in(b, masked);
  const std::string where = std::to_string(b.rows) + " x " + std::to_string(b.keys) + " " +
                            name_of(b.dtype) + (masked ? " masked" : "");
  DeviceArray weights(b.dtype, in.scores.count());
  const auto run = [&](void* to) {
    CUDA_OK(attention_weights(in.block, kScale, in.scores.data(), in.normalisers.floats(), to,
                              nullptr));
    CUDA_OK(cudaDeviceSynchronize());
  };
  const std::vector<double> expected = expected_weights(in);
  // float16 has few bits left below 6e-5.
  const double smallest = b.dtype == CudaDtype::kFloat16 ? 6e-8 : 1e-30;
  run(weights.data());
  expect_near(keys_of(weights, b), expected, tolerance(b.dtype), smallest, where.c_str());
  expect(weights.margin_is_untouched(), "%s: margin", where.c_str());

  DeviceArray gradient(b.dtype, in.scores.count()), delta(CudaDtype::kFloat32, b.rows);
  gradient.set(random_values(gradient.count()));
  delta.set(random_values(b.rows));
  const std::vector<float> p = keys_of(weights, b), g = keys_of(gradient, b), d = delta.get();
  std::vector<double> moved;
  for (size_t i = 0; i < p.size(); ++i) {
    moved.push_back(double{p[i]} * (double{g[i]} - d[i / b.keys]) * kScale);
  }
  CUDA_OK(
      score_gradient(in.block, kScale, weights.data(), delta.floats(), gradient.data(), nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  expect_near(keys_of(gradient, b), moved, tolerance(b.dtype), 1e-7, where.c_str());
  expect(gradient.margin_is_untouched(), "%s: margin of the gradient", where.c_str());

  DeviceArray softmax(b.dtype, in.scores.count()), log_sum(CudaDtype::kFloat32, b.rows);
  softmax.set(in.scores.get());
  CUDA_OK(attention_softmax(in.block, kScale, softmax.data(), log_sum.floats(), nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  expect_near(keys_of(softmax, b), expected, tolerance(b.dtype), smallest, "softmax");

  run(in.scores.data());
  expect_near(keys_of(in.scores, b), expected, tolerance(b.dtype), smallest, "in place");
}

constexpr CudaDtype kAll[] = {CudaDtype::kFloat32, CudaDtype::kBFloat16, CudaDtype::kFloat16};

}  // namespace

bool check_attention_pieces() {
  begin_section("attention weights and their gradient");
  constexpr int64_t kSizes[][3] = {{1, 1, 1},          {3, 5, 5},       {37, 261, 264},
                                   {64, 256, 256},     {5, 4096, 4096}, {130, 2000, 2008},
                                   {7, 50'176, 50'176}};
  for (const CudaDtype dtype : kAll) {
    for (const auto& [rows, keys, stride] : kSizes) {
      const ScoreBlock block = {rows, keys, stride, dtype, nullptr, 0, /*rows_per_mask=*/3};
      check_block(block, false);
      check_block(block, true);
    }
  }
  return end_section();
}

void time_attention_pieces() {
  // Language at batch 32: all heads of the encoder's cross-attend.
  const ScoreBlock b = {32 * 8 * 256, 2048, 2048, CudaDtype::kBFloat16};
  const double bytes = 2.0 * b.rows * b.keys;
  DeviceArray scores(b.dtype, b.rows * b.keys), weights(b.dtype, scores.count());
  DeviceArray rows(CudaDtype::kFloat32, b.rows);
  scores.set(random_values(1 << 20));
  rows.set({8.0f});
  print_time("attention_weights 65536x2048 bf16",
             microseconds(10,
                          [&](int, cudaStream_t stream) {
                            CUDA_OK(attention_weights(b, kScale, scores.data(), rows.floats(),
                                                      weights.data(), stream));
                          }),
             2 * bytes);
  print_time("score_gradient 65536x2048 bf16",
             microseconds(10,
                          [&](int, cudaStream_t stream) {
                            CUDA_OK(score_gradient(b, kScale, weights.data(), rows.floats(),
                                                   scores.data(), stream));
                          }),
             3 * bytes);
  print_time(
      "attention_softmax 65536x2048 bf16",
      microseconds(10,
                   [&](int, cudaStream_t stream) {
                     CUDA_OK(attention_softmax(b, kScale, scores.data(), rows.floats(), stream));
                   }),
      2 * bytes);
}

}  // namespace perceiver::bench
