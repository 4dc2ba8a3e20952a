// Checks attention_hopper's kernels against float64 on many shapes, then times them.
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90a,code=sm_90a bench/cuda_attention_bench.cu \
//     perceiver/kernels/cuda/attention_hopper*.cu -o attention_bench
//   attention_bench [variant ...]
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "perceiver/kernels/cuda/attention_hopper_launch.h"

namespace perceiver {
namespace {

#define CHECK(call)                                                              \
  do {                                                                           \
    const cudaError_t error_ = (call);                                           \
    if (error_ != cudaSuccess) {                                                 \
      std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

// ---- arrays --------------------------------------------------------------------------------

struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
  explicit Buffer(size_t size = 0) : bytes(size) {
    if (size > 0) CHECK(cudaMalloc(&data, size));
  }
  Buffer(Buffer&& other) noexcept : data(other.data), bytes(other.bytes) { other.data = nullptr; }
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(data); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

__device__ uint32_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return static_cast<uint32_t>(x >> 32);
}

__device__ float normal(uint64_t index, uint64_t seed) {
  const float u = (mix(2 * index + (seed << 40)) + 1.0f) * 2.3283064e-10f;
  const float v = mix(2 * index + 1 + (seed << 40)) * 2.3283064e-10f;
  return sqrtf(-2.0f * logf(fminf(u, 1.0f))) * cospif(2.0f * v);
}

// Channels behind `channels`, the padding of a row, get what a kernel must not read: NaN.
template <class T>
__global__ void fill_normal(T* out, int64_t count, int stride, int channels, float scale,
                            uint64_t seed) {
  for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    out[i] = static_cast<T>(i % stride < channels ? scale * normal(i, seed) : NAN);
  }
}

__global__ void fill_mask(uint8_t* out, int64_t count, int64_t keys, int kind, uint64_t seed) {
  for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    const bool hidden_batch = kind == 2 && i / keys == 0;  // nothing is there in the first
    out[i] = !hidden_batch && (mix(i + (seed << 40)) & 1);
  }
}

// ---- the reference -------------------------------------------------------------------------

// A block a row: scores [rows, M] in float64, then out [rows, F] and lse [rows].
template <class T>
__global__ void reference(HopperAttention a, const int64_t* rows, double* scores, double* out,
                          double* lse) {
  __shared__ double shared[256];
  const int64_t row = rows[blockIdx.x], batch = row / a.queries, query = row % a.queries;
  const T* q = static_cast<const T*>(a.q) + batch * a.q_batch + query * a.q_row;
  double* s = scores + blockIdx.x * a.keys;
  const uint8_t* mask = a.kv_mask ? a.kv_mask + batch * a.mask_batch : nullptr;
  double top = -INFINITY;
  for (int64_t key = threadIdx.x; key < a.keys; key += 256) {
    const T* k = static_cast<const T*>(a.k) + batch * a.k_batch + key * a.k_row;
    double sum = 0.0;
    for (int c = 0; c < a.channels; ++c) sum += double(float(q[c])) * double(float(k[c]));
    s[key] = mask && !mask[key] ? -INFINITY : sum * a.scale;
    top = fmax(top, s[key]);
  }
  auto reduce = [&](double x, bool maximum) {
    shared[threadIdx.x] = x;
    for (int i = 128; i > 0; i /= 2) {
      __syncthreads();
      if (threadIdx.x < i) {
        const double other = shared[threadIdx.x + i];
        shared[threadIdx.x] =
            maximum ? fmax(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
      }
    }
    __syncthreads();
    const double result = shared[0];
    __syncthreads();
    return result;
  };
  top = reduce(top, true);
  double total = 0.0;
  for (int64_t key = threadIdx.x; key < a.keys; key += 256) {
    s[key] = top == -INFINITY ? 0.0 : exp(s[key] - top);
    total += s[key];
  }
  total = reduce(total, false);
  for (int c = threadIdx.x; c < a.channels; c += 256) {
    const T* v = static_cast<const T*>(a.v) + batch * a.v_batch + c;
    double sum = 0.0;
#pragma unroll 8
    for (int64_t key = 0; key < a.keys; ++key) sum += s[key] * double(float(v[key * a.v_row]));
    out[blockIdx.x * a.channels + c] = total > 0.0 ? sum / total : 0.0;
  }
  if (threadIdx.x == 0) lse[blockIdx.x] = total > 0.0 ? top + log(total) : INFINITY;
}

// ---- cases ---------------------------------------------------------------------------------

struct Case {
  const char* name;
  int64_t batch, queries, keys, channels, stride;
  int splits = 1;  // 0: as the plan wants
  int mask = 0;    // 1: half of the keys, 2: and none of the first batch
  bool shared = true;
  float spread = 2.0f;  // of the scores
};

constexpr int64_t kGuardRows = 4;

template <class T>
struct Problem {
  HopperAttention a;
  std::vector<Buffer> buffers;

  Problem(const Case& c, uint64_t seed, bool with_lse) {
    auto make = [&](size_t bytes) {
      buffers.emplace_back(bytes);
      return buffers.back().data;
    };
    auto array = [&](int64_t rows, float scale) {
      T* data = static_cast<T*>(make(c.batch * rows * c.stride * sizeof(T)));
      fill_normal<T><<<2048, 256>>>(data, c.batch * rows * c.stride, static_cast<int>(c.stride),
                                    static_cast<int>(c.channels), scale, ++seed);
      return data;
    };
    a.bfloat16 = std::is_same_v<T, __nv_bfloat16>;
    a.batch = c.batch, a.queries = c.queries, a.keys = c.keys, a.channels = c.channels;
    a.q_row = a.k_row = a.v_row = a.out_row = c.stride;
    a.q_batch = a.out_batch = c.queries * c.stride;
    a.k_batch = a.v_batch = c.keys * c.stride;
    a.mask_batch = c.keys;
    a.scale = 1.0f / std::sqrt(static_cast<float>(c.channels));
    a.q = array(c.queries, c.spread);
    a.k = array(c.keys, 1.0f);
    a.v = c.shared ? a.k : array(c.keys, 1.0f);
    const size_t out_bytes = (c.batch * c.queries + kGuardRows) * c.stride * sizeof(T);
    a.out = make(out_bytes);
    CHECK(cudaMemset(a.out, 0xff, out_bytes));
    if (c.mask != 0) {
      uint8_t* mask = static_cast<uint8_t*>(make(c.batch * c.keys));
      fill_mask<<<256, 256>>>(mask, c.batch * c.keys, c.keys, c.mask, ++seed);
      a.kv_mask = mask;
    }
    if (with_lse) a.log_sum_exp = static_cast<float*>(make(c.batch * c.queries * 4));
    const int splits = c.splits == 0 && c.batch * c.queries > 20000 ? 2 : kMostSplits;
    const size_t workspace = splits * c.batch * c.queries * (c.channels + 10) * 4;
    a.workspace = make(workspace);
    CHECK(cudaMemset(a.workspace, 0xff, workspace));
  }
};

struct Errors {
  double relative = 0.0, largest = 0.0, lse = 0.0;
  bool broken = false;  // not written, or written where nothing is to be
};

template <class T>
Errors compare(const Problem<T>& p, const Case& c, int64_t most_rows) {
  const int64_t all = c.batch * c.queries, count = std::min(all, most_rows);
  std::vector<int64_t> rows(count);
  for (int64_t i = 0; i < count; ++i) rows[i] = count == 1 ? 0 : i * (all - 1) / (count - 1);
  Buffer device_rows(count * 8), scores(count * c.keys * 8), out(count * c.channels * 8),
      lse(count * 8);
  CHECK(cudaMemcpy(device_rows.data, rows.data(), count * 8, cudaMemcpyHostToDevice));
  reference<T><<<static_cast<unsigned>(count), 256>>>(
      p.a, device_rows.as<int64_t>(), scores.as<double>(), out.as<double>(), lse.as<double>());
  std::vector<double> want(count * c.channels), want_lse(count);
  std::vector<T> got((all + kGuardRows) * c.stride);
  std::vector<float> got_lse(all);
  CHECK(cudaMemcpy(want.data(), out.data, out.bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(want_lse.data(), lse.data, lse.bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(got.data(), p.a.out, got.size() * sizeof(T), cudaMemcpyDeviceToHost));
  if (p.a.log_sum_exp) {
    CHECK(cudaMemcpy(got_lse.data(), p.a.log_sum_exp, all * 4, cudaMemcpyDeviceToHost));
  }
  Errors e;
  double squares = 0.0, norm = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < c.channels; ++j) {
      const double w = want[i * c.channels + j], g = float(got[rows[i] * c.stride + j]);
      if (!(std::abs(g) < 1e30)) e.broken = true;
      squares += (g - w) * (g - w);
      norm += w * w;
      e.largest = std::max(e.largest, std::abs(g - w));
    }
    if (!p.a.log_sum_exp) continue;
    const double w = want_lse[i], g = got_lse[rows[i]];
    if (w == INFINITY || g == INFINITY) {
      e.broken |= w != g;
    } else {
      e.lse = std::max(e.lse, std::isnan(g) ? 1e9 : std::abs(g - w));
    }
  }
  uint16_t bits;
  for (int64_t i = 0; i < static_cast<int64_t>(got.size()); ++i) {
    std::memcpy(&bits, &got[i], 2);
    const int64_t channel = i % c.stride;
    const bool outside = i / c.stride >= all || channel >= (c.channels + 7) / 8 * 8;
    if (outside != (bits == 0xffff)) e.broken = true;
    if (!outside && channel >= c.channels && bits != 0) e.broken = true;  // zeros to the next eight
  }
  e.relative = norm > 0.0 ? std::sqrt(squares / norm) : std::sqrt(squares);
  return e;
}

// ---- variants ------------------------------------------------------------------------------

using Run = cudaError_t (*)(const HopperAttention&, int splits, cudaStream_t);

int multiprocessors() {
  static const int count = [] {
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    return value;
  }();
  return count;
}

template <class Tile>
cudaError_t run(const HopperAttention& a, int splits, cudaStream_t stream) {
  return run_hopper<Tile>(a, hopper_plan<Tile>(a, multiprocessors(), splits), multiprocessors(),
                          stream);
}

// As the library calls it; the plan is its own.
cudaError_t run_public(const HopperAttention& a, int, cudaStream_t stream) {
  if (const char* refusal = attention_hopper_refusal(a)) {
    std::printf("refused: %s\n", refusal);
    return cudaErrorNotSupported;
  }
  const size_t most = kMostSplits * a.batch * a.queries * (a.channels + 10) * 4;
  if (attention_hopper_workspace(a) > most) return cudaErrorInvalidValue;
  return attention_hopper(a, stream);
}

struct Variant {
  const char* name;
  int channels;
  bool half;
  Run shared, separate;
};

// Wide and narrow columns, channels of values, keys, stages, overlap, turns.
template <class T, int W, int N, int kValues, int K, int kStages, bool kOverlap, bool kTurns>
Variant variant(const char* name) {
  return {name, kValues, std::is_same_v<T, __half>,
          run<HopperTile<T, W, N, kValues, K, kStages, true, kOverlap, kTurns>>,
          run<HopperTile<T, W, N, kValues, K, kStages, false, kOverlap, kTurns>>};
}

using B = __nv_bfloat16;
const std::vector<Variant> kVariants = {
    variant<B, 4, 5, 336, 64, 3, false, false>("336-plain"),
    variant<B, 4, 5, 328, 64, 3, false, true>("328-plain-turns"),
    variant<B, 4, 5, 328, 64, 3, true, true>("328-overlap-turns"),
    variant<B, 4, 5, 328, 64, 3, true, false>("328-overlap"),
    variant<B, 4, 5, 328, 48, 4, true, true>("328-48-turns"),
    variant<B, 4, 5, 328, 80, 2, false, true>("328-80-turns"),
    variant<B, 3, 5, 264, 96, 3, true, true>("264-96-turns"),
    variant<B, 3, 5, 272, 96, 3, true, true>("272-96-turns"),
    {"public-328", 328, false, run_public, run_public},
    {"public-264", 264, false, run_public, run_public},
    variant<__half, 4, 5, 328, 64, 3, true, true>("328-half"),
    variant<__half, 3, 5, 264, 96, 3, true, true>("264-half"),
};

std::vector<Case> check_cases(int f) {
  return {{"one tile", 1, 128, 64, f, f},
          {"one key", 1, 1, 1, f, f},
          {"two tiles", 1, 64, 192, f, f},
          {"ragged", 2, 200, 1000, f, f, 1, 0, true},
          {"ragged k v", 2, 200, 1000, f, f, 1, 0, false},
          {"masked", 3, 130, 129, f, f + 8, 1, 1, true},
          {"masked k v", 3, 130, 700, f, f, 1, 1, false},
          {"none there", 2, 100, 300, f, f, 1, 2, true},
          {"narrower", 2, 100, 300, f - 3, f, 1, 0, false},
          {"much narrower", 1, 70, 300, 258, f, 1, 0, true},
          {"narrower, split", 2, 100, 3000, f - 6, f, 4, 0, false},
          {"split", 2, 300, 5000, f, f, 5, 0, true},
          {"split masked", 2, 130, 3001, f, f, 7, 2, false},
          {"split in 32", 1, 257, 4100, f, f, 32, 1, true},
          {"planned", 2, 130, 20000, f, f, 0, 0, true},
          {"many works", 1, 128 * 270 + 5, 200, f, f, 1, 0, false},
          {"many works, batch", 140, 129, 300, f, f, 1, 1, true},
          {"peaked", 1, 128, 3000, f, f, 1, 0, true, 12.0f}};
}

// The paper's arrays: 322 and 261 channels, padded to eights.
std::vector<Case> time_cases(int channels) {
  if (channels > 300) {
    return {{"flow encoder b1", 1, 2048, 182528, 322, 328, 0, 0, true},
            {"flow encoder b6", 6, 2048, 182528, 322, 328, 0, 0, true},
            {"flow decoder b1", 1, 182528, 2048, 322, 328, 0, 0, false},
            {"decoder with k = v", 1, 182528, 2048, 322, 328, 0, 0, true},
            {"conv encoder b1", 1, 512, 3136, 322, 328, 0, 0, true},
            {"conv encoder b32", 32, 512, 3136, 322, 328, 0, 0, true}};
  }
  return {{"fourier encoder b1", 1, 512, 50176, 261, 264, 0, 0, true},
          {"fourier encoder b8", 8, 512, 50176, 261, 264, 0, 0, true},
          {"fourier encoder b32", 32, 512, 50176, 261, 264, 0, 0, true}};
}

template <class T>
bool check(const Variant& v) {
  double relative = 0.0, largest = 0.0, lse = 0.0;
  std::string failed;
  uint64_t seed = 100;
  for (const Case& c : check_cases(v.channels)) {
    std::printf("  %s: %s ...\r", v.name, c.name);
    std::fflush(stdout);
    Problem<T> p(c, seed += 10, true);
    CHECK(cudaDeviceSynchronize());
    CHECK((c.shared ? v.shared : v.separate)(p.a, c.splits, nullptr));
    CHECK(cudaDeviceSynchronize());
    const Errors e = compare(p, c, 300);
    if (e.broken || e.relative > (v.half ? 2e-3 : 8e-3) || e.lse > 2e-3) {
      char line[160];
      std::snprintf(line, sizeof line, " [%s: rel %.1e max %.1e lse %.1e%s]", c.name, e.relative,
                    e.largest, e.lse, e.broken ? " BROKEN" : "");
      failed += line;
    }
    relative = std::max(relative, e.relative);
    largest = std::max(largest, e.largest);
    lse = std::max(lse, e.lse);
  }
  std::printf("%-18s rel %.2e  max %.2e  lse %.1e  %s%s\n", v.name, relative, largest, lse,
              failed.empty() ? "ok" : "FAILED", failed.c_str());
  return failed.empty();
}

// Milliseconds of one call, the median over replays of a graph of kCalls of them, as a model's
// forward pass is one graph.
template <class T>
float milliseconds(Run run, const std::vector<Problem<T>>& sets, int splits) {
  constexpr int kCalls = 6, kReplays = 9;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaEvent_t begin, end;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(run(sets[0].a, splits, stream));  // what the first call sets up is not for a capture
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kCalls; ++i) CHECK(run(sets[i % sets.size()].a, splits, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&replay, graph, 0));
  std::vector<float> times;
  for (int i = 0; i < kReplays + 2; ++i) {
    CHECK(cudaEventRecord(begin, stream));
    CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) times.push_back(ms / kCalls);
  }
  CHECK(cudaGraphExecDestroy(replay));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class T>
void time(const Variant& v) {
  for (const Case& c : time_cases(v.channels)) {
    std::printf("  %s: %s ...\r", v.name, c.name);
    std::fflush(stdout);
    std::vector<Problem<T>> sets;
    const int64_t bytes = c.batch * (c.queries + c.keys) * c.stride * 2;
    for (int i = 0; i < (bytes > (100 << 20) ? 1 : 3); ++i) {
      sets.emplace_back(c, 1000 * i + 7, false);
    }
    CHECK(cudaDeviceSynchronize());
    const double ms = milliseconds<T>(c.shared ? v.shared : v.separate, sets, c.splits);
    const Errors e = compare(sets[0], c, 24);
    const double flops = 4.0 * c.batch * c.queries * c.keys * c.channels;
    std::printf("%-18s %-20s %8.4f ms  %6.1f TFLOP/s  rel %.1e%s\n", v.name, c.name, ms,
                flops / ms * 1e-9, e.relative, e.broken ? " BROKEN" : "");
    std::fflush(stdout);
  }
}

int main(int argc, char** argv) {
  for (const Variant& v : kVariants) {
    const bool asked = std::any_of(
        argv + 1, argv + argc, [&](const char* name) { return std::strcmp(name, v.name) == 0; });
    if (argc > 1 && !asked) continue;
    const bool ok = v.half ? check<__half>(v) : check<B>(v);
    if (!ok) continue;
    v.half ? time<__half>(v) : time<B>(v);
  }
  return 0;
}

}  // namespace
}  // namespace perceiver

int main(int argc, char** argv) { return perceiver::main(argc, argv); }
