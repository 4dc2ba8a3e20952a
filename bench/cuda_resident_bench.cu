// attention_resident and its gradients against the same in double, then their times at the paper's
// sizes. One line, from the root of the repository:
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -cudart static
//     bench/cuda_{bench,resident_bench}.cu perceiver/kernels/{cuda/tma_map,attention/few_keys}.cu
//     -o resident_bench && ./resident_bench [check | time]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "bench/cuda_bench.h"
#include "perceiver/kernels/attention/few_keys.h"

namespace perceiver::bench {
namespace {

constexpr auto kF32 = CudaDtype::kFloat32, kBf16 = CudaDtype::kBFloat16, kF16 = CudaDtype::kFloat16;

struct Shape {
  int batch, heads, queries, keys, qk_channels, v_channels;
  CudaDtype dtype = kBf16;
};

std::string describe(const Shape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.heads) + " heads, " +
         std::to_string(s.queries) + " x " + std::to_string(s.keys) + ", " +
         std::to_string(s.qk_channels) + " and " + std::to_string(s.v_channels) + " " +
         name_of(s.dtype);
}

// q, k and v side by side in rows, as many as there are queries or keys; and so their gradients.
struct Problem {
  Shape shape;
  int64_t rows, width, out_width;
  DeviceArray qkv, out, log_sums, d_out, d_qkv;
  std::vector<uint8_t> mask;
  uint8_t* device_mask = nullptr;

  explicit Problem(const Shape& s)
      : shape(s),
        rows(std::max(s.queries, s.keys)),
        width(int64_t{s.heads} * (2 * s.qk_channels + s.v_channels)),
        out_width(int64_t{s.heads} * s.v_channels),
        qkv(s.dtype, s.batch * rows * width),
        out(s.dtype, s.batch * s.queries * out_width),
        log_sums(kF32, int64_t{s.batch} * s.heads * s.queries),
        d_out(s.dtype, out.count()),
        d_qkv(s.dtype, qkv.count()) {
    constexpr int64_t kMost = 99'991;  // a prime: repeated, no two rows are alike
    qkv.set(random_values(std::min(qkv.count(), kMost)));
    d_out.set(random_values(std::min(d_out.count(), kMost)));
  }
  Problem(Problem&&) = delete;
  ~Problem() { cudaFree(device_mask); }

  // A third of the keys is not there, and of the first example none.
  void draw_mask() {
    const std::vector<float> draws = random_values(int64_t{shape.batch} * shape.keys);
    for (size_t i = 0; i < draws.size(); ++i) {
      mask.push_back(draws[i] > -0.4f && static_cast<int64_t>(i) >= shape.keys);
    }
    CUDA_OK(cudaMalloc(&device_mask, mask.size()));
    CUDA_OK(cudaMemcpy(device_mask, mask.data(), mask.size(), cudaMemcpyHostToDevice));
  }
  bool is_open(int example, int key) const {
    return mask.empty() || mask[static_cast<size_t>(example) * shape.keys + key] != 0;
  }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape.qk_channels)); }

  int64_t q_at() const { return 0; }
  int64_t k_at() const { return int64_t{shape.heads} * shape.qk_channels; }
  int64_t v_at() const { return 2 * k_at(); }

  template <typename Rows>
  Rows columns(const DeviceArray& array, int64_t begin, int64_t channels) const {
    auto* data = static_cast<char*>(array.data()) + begin * static_cast<int64_t>(sizeof(int16_t));
    return {data, rows * width, channels, width};
  }
  template <typename Rows>
  Rows outputs(const DeviceArray& array) const {
    return {array.data(), shape.queries * out_width, shape.v_channels, out_width};
  }
  ResidentAttention attention() const {
    const int f = shape.qk_channels, v = shape.v_channels;
    return {.bfloat16 = shape.dtype == kBf16,
            .batch = shape.batch,
            .heads = shape.heads,
            .queries = shape.queries,
            .keys = shape.keys,
            .qk_channels = f,
            .v_channels = v,
            .q = columns<HeadRows>(qkv, q_at(), f),
            .k = columns<HeadRows>(qkv, k_at(), f),
            .v = columns<HeadRows>(qkv, v_at(), v),
            .kv_mask = device_mask,
            .scale = scale(),
            .out = outputs<NewHeadRows>(out),
            .log_sum_exp = log_sums.floats()};
  }
  ResidentGradients gradients() const {
    const int f = shape.qk_channels, v = shape.v_channels;
    return {.out = outputs<HeadRows>(out),
            .d_out = outputs<HeadRows>(d_out),
            .log_sum_exp = log_sums.floats(),
            .dq = columns<NewHeadRows>(d_qkv, q_at(), f),
            .dk = columns<NewHeadRows>(d_qkv, k_at(), f),
            .dv = columns<NewHeadRows>(d_qkv, v_at(), v)};
  }
};

struct Expected {
  std::vector<double> out, log_sums, d_qkv;
};

// One head of one example, by the definition.
void compute_head(const Problem& p, const std::vector<float>& qkv, const std::vector<float>& d_out,
                  int example, int head, Expected& to) {
  const Shape& s = p.shape;
  const int f = s.qk_channels, c = s.v_channels;
  const int64_t first = example * p.rows * p.width;
  const int64_t q = first + p.q_at() + head * f, k = first + p.k_at() + head * f,
                v = first + p.v_at() + head * c;
  std::vector<double> weights(s.keys);
  for (int i = 0; i < s.queries; ++i) {
    double sum = 0, mean = 0;
    for (int j = 0; j < s.keys; ++j) {
      double score = 0;
      for (int x = 0; x < f; ++x) {
        score += double{qkv[q + i * p.width + x]} * qkv[k + j * p.width + x];
      }
      weights[j] = p.is_open(example, j) ? std::exp(score * p.scale()) : 0.0;
      sum += weights[j];
    }
    to.log_sums[(int64_t{example} * s.heads + head) * s.queries + i] = std::log(sum);
    const int64_t out = (int64_t{example} * s.queries + i) * p.out_width + head * c;
    for (double& w : weights) w = sum > 0 ? w / sum : 0.0;
    std::vector<double> gains(s.keys);
    for (int j = 0; j < s.keys; ++j) {
      for (int x = 0; x < c; ++x) {
        to.out[out + x] += weights[j] * qkv[v + j * p.width + x];
        gains[j] += double{d_out[out + x]} * qkv[v + j * p.width + x];
        to.d_qkv[v + j * p.width + x] += weights[j] * d_out[out + x];
      }
      mean += weights[j] * gains[j];
    }
    for (int j = 0; j < s.keys; ++j) {
      const double gradient = weights[j] * (gains[j] - mean) * p.scale();
      for (int x = 0; x < f; ++x) {
        to.d_qkv[q + i * p.width + x] += gradient * qkv[k + j * p.width + x];
        to.d_qkv[k + j * p.width + x] += gradient * qkv[q + i * p.width + x];
      }
    }
  }
}

Expected expected_of(const Problem& p) {
  Expected e{std::vector<double>(p.out.count()), std::vector<double>(p.log_sums.count()),
             std::vector<double>(p.qkv.count())};
  const std::vector<float> qkv = p.qkv.get(), d_out = p.d_out.get();
  std::vector<std::jthread> threads;  // no two heads write to the same elements
  for (int example = 0; example < p.shape.batch; ++example) {
    for (int head = 0; head < p.shape.heads; ++head) {
      threads.emplace_back([&, example, head] { compute_head(p, qkv, d_out, example, head, e); });
    }
  }
  threads.clear();
  return e;
}

// The error of all elements together, and the largest; weights are rounded before they are
// multiplied, so that of a single small one says little.
void expect_close(const std::vector<float>& got, const std::vector<double>& expected, double most,
                  const std::string& where) {
  double error = 0, size = 0, largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double e = std::abs(got[i] - expected[i]);
    largest = std::isnan(e) ? std::numeric_limits<double>::infinity() : std::max(largest, e);
    error += e * e / static_cast<double>(got.size());
    size += expected[i] * expected[i] / static_cast<double>(got.size());
  }
  error = std::sqrt(error), size = std::sqrt(size);
  expect(error <= most * size + 1e-5 && largest <= 30 * most * size + 1e-4,
         "%s: error %.3g, at most %.3g, of values of %.3g", where.c_str(), error, largest, size);
}

// The gradient of q, k or v, out of the rows that have them all: columns from `begin` on.
template <typename T>
std::vector<T> part_of(const Problem& p, const std::vector<T>& d_qkv, int64_t begin, int channels,
                       int rows) {
  std::vector<T> part;
  for (int64_t row = 0; row < p.shape.batch * p.rows; ++row) {
    if (row % p.rows >= rows) continue;
    const auto from = d_qkv.begin() + row * p.width + begin;
    part.insert(part.end(), from, from + p.shape.heads * channels);
  }
  return part;
}

int64_t count_nan(const std::vector<float>& values) {
  return std::count_if(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

void check_gradients(const Problem& p, const Expected& e, const std::string& where) {
  const Shape& s = p.shape;
  const auto gradients = [&] {
    CUDA_OK(attention_resident_gradients(p.attention(), p.gradients(), nullptr));
    return p.d_qkv.get();
  };
  const std::vector<float> got = gradients(), again = gradients();
  const auto expect_part = [&](const char* name, int64_t begin, int channels, int rows) {
    expect_close(part_of(p, got, begin, channels, rows), part_of(p, e.d_qkv, begin, channels, rows),
                 2 * tolerance(s.dtype), where + name);
  };
  expect_part(", dq", p.q_at(), s.qk_channels, s.queries);
  expect_part(", dk", p.k_at(), s.qk_channels, s.keys);
  expect_part(", dv", p.v_at(), s.v_channels, s.keys);
  const int64_t others =
      s.batch * ((p.rows - s.queries) * p.k_at() + (p.rows - s.keys) * (p.width - p.k_at()));
  expect(count_nan(got) == others && p.d_qkv.margin_is_untouched(), "%s: nothing else is written",
         where.c_str());
  expect(std::equal(got.begin(), got.end(), again.begin(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); }),
         "%s: the same bits again", where.c_str());
}

void check(const Shape& s, bool masked) {
  Problem p(s);
  if (masked) p.draw_mask();
  const std::string where = describe(s) + (masked ? ", masked" : "");
  const bool has_gradients = s.dtype == kBf16;
  if (const char* refusal = attention_resident_refusal(p.attention(), has_gradients)) {
    return expect(false, "%s: %s", where.c_str(), refusal);
  }
  const Expected e = expected_of(p);
  CUDA_OK(attention_resident(p.attention(), nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  expect_close(p.out.get(), e.out, tolerance(s.dtype), where + ", out");
  std::vector<float> log_sums = p.log_sums.get();
  std::vector<double> expected_log_sums = e.log_sums;
  for (size_t i = 0; i < log_sums.size(); ++i) {  // infinities have no distance
    if (std::isinf(expected_log_sums[i]) && log_sums[i] == expected_log_sums[i]) {
      log_sums[i] = 0, expected_log_sums[i] = 0;
    }
  }
  expect_near(log_sums, expected_log_sums, 2e-6, 4e-6, (where + ", log-sums").c_str());
  expect(p.out.margin_is_untouched() && p.log_sums.margin_is_untouched(), "%s: margins",
         where.c_str());
  if (has_gradients) check_gradients(p, e, where);
}

bool check_shapes() {
  constexpr int kChannels[][2] = {{16, 16}, {16, 32}, {32, 32}, {32, 96}, {32, 160}, {64, 64}};
  constexpr int kSizes[][4] = {{2, 3, 256, 256}, {2, 3, 77, 200}, {3, 1, 1, 1},    {2, 2, 130, 33},
                               {40, 4, 63, 65},  {2, 2, 33, 129}, {30, 5, 129, 64}};
  begin_section("resident attention");
  for (const auto& [f, v] : kChannels) {
    for (const auto& [batch, heads, queries, keys] : kSizes) {
      for (const CudaDtype dtype : {kBf16, kF16}) {
        check({batch, heads, queries, keys, f, v, dtype}, false);
        check({batch, heads, queries, keys, f, v, dtype}, true);
      }
    }
  }
  check({1, 8, 256, 256, 32, 160}, false);
  check({17, 8, 256, 256, 32, 160}, false);
  check({150, 2, 64, 96, 32, 160}, false);  // three heads a multiprocessor
  check({150, 2, 130, 130, 32, 96}, true);
  check({1, 2, 512, 512, 32, 32}, true);
  return end_section();
}

// Sets of arrays that together are larger than the cache, or one that stays in it.
void time_shape(const Shape& s, int sets) {
  std::vector<std::unique_ptr<Problem>> problems;
  for (int i = 0; i < sets; ++i) problems.push_back(std::make_unique<Problem>(s));
  const double forward = microseconds(40, [&](int i, cudaStream_t stream) {
    CUDA_OK(attention_resident(problems[i % sets]->attention(), stream));
  });
  const double backward = microseconds(40, [&](int i, cudaStream_t stream) {
    const Problem& p = *problems[i % sets];
    CUDA_OK(attention_resident_gradients(p.attention(), p.gradients(), stream));
  });
  const Problem& p = *problems[0];
  const double bytes = 2.0 * static_cast<double>(p.qkv.count() + p.out.count());
  print_time(("forward " + describe(s)).c_str(), forward, bytes);
  print_time(("backward " + describe(s)).c_str(), backward, 2 * bytes);
}

void time_shapes() {
  for (const int batch : {1, 2, 4, 8, 32}) {
    time_shape({batch, 8, 256, 256, 32, 160}, batch < 8 ? 1 : 4);
  }
  for (const int batch : {1, 32}) {
    time_shape({batch, 8, 256, 256, 32, 96}, 1);
    time_shape({batch, 8, 256, 256, 64, 64}, 1);
    time_shape({batch, 8, 256, 256, 32, 32}, 1);
    time_shape({batch, 8, 64, 64, 32, 32}, 1);
    time_shape({batch, 8, 128, 128, 16, 32}, 1);
    time_shape({batch, 16, 64, 64, 16, 16}, 1);
  }
}

}  // namespace
}  // namespace perceiver::bench

int main(int count, char** words) {
  using namespace perceiver::bench;
  return check_and_time(count, words, check_shapes, time_shapes);
}
