// attention_narrow against the same in double, on some of the queries, then its times at the
// paper's sizes. One line, from the root of the repository:
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -cudart static
//     bench/cuda_{bench,narrow_bench}.cu
//     perceiver/kernels/{cuda/tma_map,attention/narrow_heads_sm90{,_maps}}.cu
//     -o narrow_bench && ./narrow_bench [check | time | main]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "bench/cuda_bench.h"
#include "perceiver/kernels/attention/narrow_heads_sm90.h"

namespace perceiver::bench {
namespace {

constexpr auto kBf16 = CudaDtype::kBFloat16, kF16 = CudaDtype::kFloat16;

struct Shape {
  int batch, heads, queries, keys, channels;
  CudaDtype dtype = kBf16;
  float size = 1;         // of queries and keys
  bool late_key = false;  // one of the last keys is far above all before it
};

std::string describe(const Shape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.heads) + " heads, " +
         std::to_string(s.queries) + " x " + std::to_string(s.keys) + ", " +
         std::to_string(s.channels) + " " + name_of(s.dtype) + ", size " +
         std::to_string(static_cast<int>(s.size)) + (s.late_key ? ", late key" : "");
}

// q, k and v side by side in rows, as many as there are queries or keys.
struct Problem {
  Shape shape;
  int64_t rows, width, out_width;
  DeviceArray qkv, out;

  explicit Problem(const Shape& s)
      : shape(s),
        rows(std::max(s.queries, s.keys)),
        width(int64_t{s.heads} * 3 * s.channels),
        out_width(int64_t{s.heads} * s.channels),
        qkv(s.dtype, s.batch * rows * width),
        out(s.dtype, s.batch * s.queries * out_width) {
    constexpr int64_t kMost = 999'983;  // a prime: repeated, no two rows are alike
    if (s.size == 1 && !s.late_key) {
      qkv.set(random_values(std::min(qkv.count(), kMost)));
      return;
    }
    std::vector<float> values = random_values(qkv.count());
    for (int64_t i = 0; i < qkv.count(); ++i) {
      const int64_t row = i / width % rows;
      if (i % width < 2 * out_width) values[i] *= s.size;
      // The same sign for all queries' first channel, and a key that is long there.
      if (s.late_key && i % width < out_width && i % s.channels == 0) values[i] = 4;
      if (s.late_key && i % width / out_width == 1 && i % s.channels == 0 && row == s.keys - 3) {
        values[i] = 500;
      }
    }
    qkv.set(values);
  }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape.channels)); }
  HeadRows part(int which) const {
    auto* data = static_cast<char*>(qkv.data()) + which * out_width * 2;
    return {data, rows * width, shape.channels, width};
  }
  NarrowAttention attention() const {
    return {.bfloat16 = shape.dtype == kBf16,
            .batch = shape.batch,
            .heads = shape.heads,
            .queries = shape.queries,
            .keys = shape.keys,
            .channels = shape.channels,
            .q = part(0),
            .k = part(1),
            .v = part(2),
            .scale = scale(),
            .out = {out.data(), shape.queries * out_width, shape.channels, out_width}};
  }
};

// Squares of errors, and of what was expected.
struct Errors {
  double ours = 0, plain = 0, size = 0, largest = 0;
};

// One query: in double, and as float32 with rounded weights does it.
void compare(const Problem& p, const std::vector<float>& qkv, const std::vector<float>& got,
             int64_t example, int64_t head, int64_t query, Errors& to) {
  const Shape& s = p.shape;
  const int c = s.channels;
  const float* const q = &qkv[(example * p.rows + query) * p.width + head * c];
  const float* const k = &qkv[example * p.rows * p.width + p.out_width + head * c];
  const float* const v = k + p.out_width;
  std::vector<double> scores(s.keys), expected(c);
  std::vector<float> plain_scores(s.keys), plain(c);
  for (int j = 0; j < s.keys; ++j) {
    for (int x = 0; x < c; ++x) {
      scores[j] += double{q[x]} * k[j * p.width + x];
      plain_scores[j] += q[x] * k[j * p.width + x];
    }
    scores[j] *= p.scale(), plain_scores[j] *= p.scale();
  }
  const double most = *std::max_element(scores.begin(), scores.end());
  const float plain_most = *std::max_element(plain_scores.begin(), plain_scores.end());
  double sum = 0;
  float plain_sum = 0;
  for (int j = 0; j < s.keys; ++j) {
    sum += scores[j] = std::exp(scores[j] - most);
    plain_sum += plain_scores[j] = std::exp(plain_scores[j] - plain_most);
  }
  for (int j = 0; j < s.keys; ++j) {
    const float weight = rounded(s.dtype, plain_scores[j] / plain_sum);
    for (int x = 0; x < c; ++x) {
      expected[x] += scores[j] / sum * v[j * p.width + x];
      plain[x] += weight * v[j * p.width + x];
    }
  }
  const float* const out = &got[(example * s.queries + query) * p.out_width + head * c];
  for (int x = 0; x < c; ++x) {
    const double ours = out[x] - expected[x], theirs = rounded(s.dtype, plain[x]) - expected[x];
    to.ours += ours * ours, to.plain += theirs * theirs, to.size += expected[x] * expected[x];
    to.largest = std::max(to.largest, std::isnan(ours) ? INFINITY : std::abs(ours));
  }
}

Errors errors_of(const Problem& p, int step) {
  const std::vector<float> qkv = p.qkv.get(), got = p.out.get();
  const int heads = p.shape.batch * p.shape.heads;
  std::vector<Errors> errors(heads);
  std::vector<std::jthread> threads;
  for (int head = 0; head < heads; ++head) {
    threads.emplace_back([&, head] {
      for (int query = head % step; query < p.shape.queries; query += step) {
        compare(p, qkv, got, head / p.shape.heads, head % p.shape.heads, query, errors[head]);
      }
    });
  }
  threads.clear();
  Errors all;
  for (const Errors& e : errors) {
    all.ours += e.ours, all.plain += e.plain, all.size += e.size;
    all.largest = std::max(all.largest, e.largest);
  }
  return all;
}

void check(const Shape& s) {
  Problem p(s);
  const std::string where = describe(s);
  if (const char* refusal = attention_narrow_refusal(p.attention())) {
    return expect(false, "%s: %s", where.c_str(), refusal);
  }
  CUDA_OK(attention_narrow(p.attention(), nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  const Errors e = errors_of(p, s.queries > 512 ? 37 : 3);
  const double ours = std::sqrt(e.ours / e.size), plain = std::sqrt(e.plain / e.size);
  std::printf("  %s: error %.3g, plain path %.3g, at most %.3g\n", where.c_str(), ours, plain,
              e.largest);
  expect(ours <= 2 * plain, "%s: error %.3g, plain path %.3g", where.c_str(), ours, plain);
  const std::vector<float> got = p.out.get();
  expect(std::none_of(got.begin(), got.end(), [](float x) { return std::isnan(x); }),
         "%s: all is written", where.c_str());
  expect(p.out.margin_is_untouched(), "%s: margin", where.c_str());
  CUDA_OK(attention_narrow(p.attention(), nullptr));
  expect(p.out.get() == got, "%s: the same bits again", where.c_str());
}

bool check_shapes() {
  begin_section("narrow attention");
  for (const int channels : {32, 64}) {
    for (const CudaDtype dtype : {kBf16, kF16}) {
      check({1, 16, 2048, 2048, channels, dtype});
      check({2, 8, 784, 784, channels, dtype});
      check({3, 5, 1, 512, channels, dtype});
      check({2, 3, 257, 513, channels, dtype});
      check({70, 3, 300, 655, channels, dtype});
      check({2, 3, 100, 640, channels, dtype, 8});
      check({1, 3, 600, 2048, channels, dtype, 8});
      check({2, 2, 300, 900, channels, dtype, 1, true});
    }
  }
  check({6, 16, 2048, 2048, 32});
  return end_section();
}

void time_shape(const Shape& s) {
  const Problem p(s);
  const double time = microseconds(
      20, [&](int, cudaStream_t stream) { CUDA_OK(attention_narrow(p.attention(), stream)); });
  const double operations = 4.0 * s.batch * s.heads * s.queries * s.keys * s.channels;
  std::printf("%-44s %8.2f us %7.0f TFLOP/s\n", describe(s).c_str(), time,
              operations / time * 1e-6);
}

void time_shapes(bool all) {
  for (const int batch : {1, 2, 6}) time_shape({batch, 16, 2048, 2048, 32});
  if (!all) return;
  time_shape({6, 16, 2048, 2048, 32, kF16});
  for (const int batch : {1, 2, 4, 8, 16}) time_shape({batch, 8, 784, 784, 64});
  time_shape({1, 16, 2048, 2048, 64});
  time_shape({6, 16, 2048, 2048, 64});
}

}  // namespace
}  // namespace perceiver::bench

int main(int argc, char** argv) {
  using namespace perceiver::bench;
  const std::string only = argc > 1 ? argv[1] : "";
  const bool good = only == "time" || only == "main" || check_shapes();
  if (only != "check") time_shapes(only != "main");
  return good ? 0 : 1;
}
