// Attention at the paper's own shapes, by every kernel, on the CPU and on a GPU where there is one:
//   build/attention_bench --benchmark_filter=language
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>
#include <torch/cuda.h>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/attention/attention_kernels.h"

namespace perceiver {
namespace {

struct Shape {
  const char* name;
  int64_t heads, queries, keys, qk_channels, v_channels;
};
constexpr Shape kShapes[] = {
    {"imagenet_encode", 1, 512, 50'176, 261, 261}, {"imagenet_process", 8, 512, 512, 128, 128},
    {"language_encode", 8, 256, 2048, 32, 160},    {"language_process", 8, 256, 256, 32, 160},
    {"language_decode", 8, 2048, 256, 32, 96},     {"flow_encode", 1, 2048, 182'528, 322, 322},
    {"flow_decode", 1, 16'384, 2048, 512, 512},  // a slice of the 182,528
    {"small_language", 8, 128, 128, 16, 32},       {"small_flow", 8, 512, 512, 32, 32},
};

AttentionInputs drawn(const Shape& s, int64_t batch, at::TensorOptions options) {
  const auto rows = [&](int64_t elements, int64_t channels) {
    return at::randn({batch, s.heads, elements, channels}, options);
  };
  return {rows(s.queries, s.qk_channels), rows(s.keys, s.qk_channels), rows(s.keys, s.v_channels)};
}

// A multiply and an add are two operations, as in the paper (App. D).
void count_flops(benchmark::State& state, const Shape& s, double passes) {
  const double flops = 2.0 * s.heads * s.queries * s.keys * (s.qk_channels + s.v_channels) * passes;
  state.counters["FLOP/s"] = benchmark::Counter(
      flops, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void attention(benchmark::State& state, const Shape& s, const char* kernel) {
  at::NoGradGuard no_grad;
  const AttentionInputs in = drawn(s, 1, at::kFloat);
  for (auto _ : state) benchmark::DoNotOptimize(attend(in, kernel));
  count_flops(state, s, 1);
}

// Passes one after the other, as a model has them: their launches hide behind one another.
void attention_on_gpu(benchmark::State& state, const Shape& s, const char* kernel, int64_t batch,
                      bool backward) {
  constexpr int64_t kPasses = 20;
  AttentionInputs in = drawn(s, batch, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16));
  const Tensor gradient = at::randn_like(attend(in));
  for (Tensor* x : {&in.q, &in.k, &in.v}) x->requires_grad_(backward);
  const auto pass = [&] {
    const Tensor out = attend(in, kernel);
    if (backward) out.backward(gradient);
  };
  pass();  // libraries choose and compile at the first
  torch::cuda::synchronize();
  for (auto _ : state) {
    for (int64_t i = 0; i < kPasses; ++i) pass();
    torch::cuda::synchronize();
  }
  count_flops(state, s, static_cast<double>(kPasses * batch));
}

bool takes(const AttentionCase& c, const char* kernel) {
  try {
    select_attention_kernel(c, kernel);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void register_on_gpu(const Shape& shape) {
  for (const int64_t batch : {1, 32}) {
    for (const bool backward : {false, true}) {
      for (const char* kernel : {"resident", "narrow", "library"}) {
        const AttentionCase c{.device = at::Device(at::kCUDA, 0),
                              .dtype = at::kBFloat16,
                              .batch = batch,
                              .heads = shape.heads,
                              .queries = shape.queries,
                              .keys = shape.keys,
                              .qk_channels = shape.qk_channels,
                              .v_channels = shape.v_channels,
                              .needs_grad = backward};
        if (shape.qk_channels > kMostLibraryChannels || !takes(c, kernel)) continue;
        const std::string name = fmt::format("{}/gpu_{}/batch_{}{}", shape.name, kernel, batch,
                                             backward ? "/with_backward" : "");
        benchmark::RegisterBenchmark(name.c_str(), attention_on_gpu, shape, kernel, batch, backward)
            ->UseRealTime();
      }
    }
  }
}

void register_all() {
  for (const Shape& shape : kShapes) {
    for (const char* kernel : {"tiled", "reference"}) {
      const std::string name = std::string(shape.name) + "/" + kernel;
      benchmark::RegisterBenchmark(name.c_str(), attention, shape, kernel)->UseRealTime();
    }
    if (at::hasCUDA()) register_on_gpu(shape);
  }
}

}  // namespace
}  // namespace perceiver

int main(int argc, char** argv) {
  perceiver::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
