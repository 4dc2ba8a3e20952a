// Checks attention_hopper against float64 on many shapes, then times it at the paper's.
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90a,code=sm_90a bench/cuda_attention_bench.cu \
//     perceiver/kernels/{cuda/tma_map,attention/wide_heads_sm90*}.cu -o attention_bench
//   attention_bench [328-bf16 | 264-bf16 | 328-f16 | 264-f16 ...]
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench/cuda_attention_problem.h"
#include "bench/cuda_buffer.h"
#include "perceiver/kernels/attention/wide_heads_sm90.h"

namespace perceiver {
namespace {

std::vector<Case> check_cases(int f) {
  return {{"one tile", 1, 128, 64, f, f, 1},
          {"one key", 1, 1, 1, f, f, 1},
          {"two tiles", 1, 64, 192, f, f, 1},
          {"ragged", 2, 200, 1000, f, f, 1, 0, true},
          {"ragged k v", 2, 200, 1000, f, f, 1, 0, false},
          {"masked", 3, 130, 129, f, f + 8, 1, 1, true},
          {"masked k v", 3, 130, 700, f, f, 1, 1, false},
          {"none there", 2, 100, 300, f, f, 1, 2, true},
          {"narrower", 2, 100, 300, f - 3, f, 1, 0, false},
          {"much narrower", 1, 70, 300, 258, f, 1, 0, true},
          {"narrowest", 1, 70, 300, f == 328 ? 265 : 1, f, 1, 0, true},
          {"narrower, split", 2, 100, 3000, f - 6, f, 4, 0, false},
          {"split", 2, 300, 5000, f, f, 5, 0, true},
          {"split masked", 2, 130, 3001, f, f, 7, 2, false},
          {"split in 32", 1, 257, 4100, f, f, 32, 1, true},
          {"planned", 2, 130, 20000, f, f, 0, 0, true},
          {"many works", 1, 128 * 270 + 5, 200, f, f, 1, 0, false},
          {"many works, pairs", 1, 128 * 270, 200, f, f, 1, 0, false},
          {"many works, batch", 140, 129, 300, f, f, 1, 1, true},
          {"peaked", 1, 128, 3000, f, f, 1, 0, true, 12.0f},
          {"fewer of keys", 2, 300, 900, f, f, 1, 1, false, 2.0f, 198},
          {"fewest of keys, split", 1, 200, 3000, f - 3, f, 3, 0, false, 2.0f, 1},
          {"fewer of values", 2, 300, 900, 40, f, 1, 0, false, 2.0f, f - 1}};
}

// The paper's arrays: 322 and 261 channels, padded to eights; and half of the channels of the
// multimodal decoder's values.
std::vector<Case> time_cases(int f) {
  if (f == 328) {
    return {{"flow encoder b1", 1, 2048, 182528, 322, 328},
            {"flow encoder b6", 6, 2048, 182528, 322, 328},
            {"flow decoder b1", 1, 182528, 2048, 322, 328, 0, 0, false},
            {"decoder with k = v", 1, 182528, 2048, 322, 328},
            {"conv encoder b1", 1, 512, 3136, 322, 328},
            {"conv encoder b32", 32, 512, 3136, 322, 328}};
  }
  return {{"fourier encoder b1", 1, 512, 50176, 261, 264},
          {"fourier encoder b8", 8, 512, 50176, 261, 264},
          {"fourier encoder b32", 32, 512, 50176, 261, 264},
          {"half of multimodal", 1, 16384, 784, 264, 264, 0, 0, false, 2.0f, 198}};
}

__device__ double block_reduce(double x, bool maximum) {
  __shared__ double shared[256];
  shared[threadIdx.x] = x;
  for (int i = 128; i > 0; i /= 2) {
    __syncthreads();
    if (threadIdx.x >= i) continue;
    const double own = shared[threadIdx.x], other = shared[threadIdx.x + i];
    shared[threadIdx.x] = maximum ? fmax(own, other) : own + other;
  }
  __syncthreads();
  const double result = shared[0];
  __syncthreads();
  return result;
}

// In float64, a block a row: scores [rows, M], out [rows, V], log_sum_exp [rows].
template <class T>
__global__ void reference(HopperAttention a, const int64_t* rows, double* scores, double* out,
                          double* log_sum_exp) {
  const int64_t row = rows[blockIdx.x], batch = row / a.queries, query = row % a.queries;
  const T* q = static_cast<const T*>(a.q) + batch * a.q_batch + query * a.q_row;
  double* s = scores + blockIdx.x * a.keys;
  const uint8_t* mask = a.kv_mask ? a.kv_mask + batch * a.mask_batch : nullptr;
  double top = -INFINITY;
  for (int64_t key = threadIdx.x; key < a.keys; key += 256) {
    const T* k = static_cast<const T*>(a.k) + batch * a.k_batch + key * a.k_row;
    double sum = 0.0;
    for (int c = 0; c < a.qk_channels; ++c) sum += double(float(q[c])) * double(float(k[c]));
    s[key] = mask && !mask[key] ? -INFINITY : sum * a.scale;
    top = fmax(top, s[key]);
  }
  top = block_reduce(top, true);
  double total = 0.0;
  for (int64_t key = threadIdx.x; key < a.keys; key += 256) {
    s[key] = top == -INFINITY ? 0.0 : exp(s[key] - top);
    total += s[key];
  }
  total = block_reduce(total, false);
  for (int c = threadIdx.x; c < a.v_channels; c += 256) {
    const T* v = static_cast<const T*>(a.v) + batch * a.v_batch + c;
    double sum = 0.0;
#pragma unroll 8
    for (int64_t key = 0; key < a.keys; ++key) sum += s[key] * double(float(v[key * a.v_row]));
    out[blockIdx.x * a.v_channels + c] = total > 0.0 ? sum / total : 0.0;
  }
  if (threadIdx.x == 0) log_sum_exp[blockIdx.x] = total > 0.0 ? top + log(total) : -INFINITY;
}

struct Errors {
  double relative = 0.0, largest = 0.0, log_sum_exp = 0.0;
  bool broken = false;  // not written, or written where nothing is to be
};

// Rows are zero between V and the next multiple of eight, and untouched (0xff) behind it.
template <class T>
bool broken_outside(const std::vector<T>& got, const Case& c) {
  for (size_t i = 0; i < got.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, &got[i], 2);
    const int64_t channel = i % c.stride, row = i / c.stride;
    const bool outside = row >= c.batch * c.queries || channel >= (c.channels + 7) / 8 * 8;
    if (outside != (bits == 0xffff)) return true;
    if (!outside && channel >= c.channels && bits != 0) return true;
  }
  return false;
}

// Errors of `most` rows of the output, evenly spread.
template <class T>
Errors compare(const Problem<T>& p, const Case& c, int64_t most) {
  const int64_t all = c.batch * c.queries, count = std::min(all, most);
  std::vector<int64_t> rows(count);
  for (int64_t i = 0; i < count; ++i) rows[i] = count == 1 ? 0 : i * (all - 1) / (count - 1);
  const Buffer device_rows = device_bytes(count * 8), scores = device_bytes(count * c.keys * 8),
               out = device_bytes(count * c.channels * 8), lse = device_bytes(count * 8);
  CHECK(cudaMemcpy(device_rows.get(), rows.data(), count * 8, cudaMemcpyHostToDevice));
  reference<T><<<static_cast<unsigned>(count), 256>>>(
      p.a, static_cast<int64_t*>(device_rows.get()), static_cast<double*>(scores.get()),
      static_cast<double*>(out.get()), static_cast<double*>(lse.get()));
  const auto want = to_host<double>(out.get(), count * c.channels);
  const auto want_lse = to_host<double>(lse.get(), count);
  const auto got = to_host<T>(p.a.out, (all + kGuardRows) * c.stride);
  const auto got_lse = to_host<float>(p.a.log_sum_exp, p.a.log_sum_exp ? all : 0);
  Errors e;
  e.broken = broken_outside(got, c);
  double squares = 0.0, norm = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < c.channels; ++j) {
      const double w = want[i * c.channels + j], g = float(got[rows[i] * c.stride + j]);
      e.broken |= !(std::abs(g) < 1e30);
      squares += (g - w) * (g - w);
      norm += w * w;
      e.largest = std::max(e.largest, std::abs(g - w));
    }
    if (got_lse.empty()) continue;
    const double w = want_lse[i], g = got_lse[rows[i]];
    e.broken |= std::isnan(g) || (std::isinf(w) ? g != w : std::isinf(g));
    if (std::isfinite(w)) e.log_sum_exp = std::max(e.log_sum_exp, std::abs(g - w));
  }
  e.relative = std::sqrt(norm > 0.0 ? squares / norm : squares);
  return e;
}

// Every case, with its own number of splits and with the kernel's choice.
template <class T>
bool check(const char* name, int f) {
  const double allowed = std::is_same_v<T, __half> ? 2e-3 : 8e-3;
  Errors worst;
  std::string failed;
  uint64_t seed = 100;
  for (Case c : check_cases(f)) {
    for (const int splits : {c.splits, 0}) {
      c.splits = splits;
      const Problem<T> p(c, seed += 10, true);
      CHECK(attention_hopper(p.a, nullptr));
      CHECK(cudaDeviceSynchronize());
      const Errors e = compare(p, c, 300);
      if (e.broken || !(e.relative <= allowed) || !(e.log_sum_exp <= 2e-3)) {
        failed += std::string(" [") + c.name + ", splits " + std::to_string(splits) + ": rel " +
                  std::to_string(e.relative) + (e.broken ? " BROKEN]" : "]");
      }
      worst.relative = std::max(worst.relative, e.relative);
      worst.largest = std::max(worst.largest, e.largest);
      worst.log_sum_exp = std::max(worst.log_sum_exp, e.log_sum_exp);
    }
  }
  std::printf("%-9s rel %.2e  max %.2e  lse %.1e  %s%s\n", name, worst.relative, worst.largest,
              worst.log_sum_exp, failed.empty() ? "ok" : "FAILED", failed.c_str());
  return failed.empty();
}

// Milliseconds of one call, the median over replays of a graph of kCalls of them, as a model's
// forward pass is one graph.
template <class T>
float milliseconds(const std::vector<Problem<T>>& sets) {
  constexpr int kCalls = 6, kReplays = 9, kWarmUp = 2;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaEvent_t begin, end;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(attention_hopper(sets[0].a, stream));  // what the first call sets up is not for a capture
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kCalls; ++i) CHECK(attention_hopper(sets[i % sets.size()].a, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&replay, graph, 0));
  std::vector<float> times;
  for (int i = 0; i < kWarmUp + kReplays; ++i) {
    CHECK(cudaEventRecord(begin, stream));
    CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= kWarmUp) times.push_back(ms / kCalls);
  }
  CHECK(cudaGraphExecDestroy(replay));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class T>
void time(const char* name, int f) {
  for (const Case& c : time_cases(f)) {
    // Small arrays in threes, so that not all of them stay in the cache.
    const int64_t bytes = c.batch * (c.queries + c.keys) * c.stride * 2;
    std::vector<Problem<T>> sets;
    for (int i = 0; i < (bytes > (100 << 20) ? 1 : 3); ++i)
      sets.emplace_back(c, 1000 * i + 7, false);
    const double ms = milliseconds(sets);
    const Errors e = compare(sets[0], c, 24);
    const double flops = 2.0 * c.batch * c.queries * c.keys * (c.qk() + c.channels);
    std::printf("%-9s %-20s %8.4f ms  %6.1f TFLOP/s  rel %.1e%s\n", name, c.name, ms,
                flops / ms * 1e-9, e.relative, e.broken ? " BROKEN" : "");
    std::fflush(stdout);
  }
}

template <class T>
bool run(const char* name, int f) {
  const bool ok = check<T>(name, f);
  if (ok) time<T>(name, f);
  return ok;
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    bool (*run)(const char*, int);
    int channels;
  } all[] = {{"328-bf16", run<__nv_bfloat16>, 328},
             {"264-bf16", run<__nv_bfloat16>, 264},
             {"328-f16", run<__half>, 328},
             {"264-f16", run<__half>, 264}};
  bool ok = true;
  for (const auto& one : all) {
    const bool asked = std::find(argv + 1, argv + argc, std::string(one.name)) != argv + argc;
    if (argc == 1 || asked) ok &= one.run(one.name, one.channels);
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace perceiver

int main(int argc, char** argv) { return perceiver::main(argc, argv); }
