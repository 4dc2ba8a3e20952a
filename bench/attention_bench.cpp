// Attention at the paper's own shapes, by every kernel:
//   build/attention_bench --benchmark_filter=language
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>

#include "perceiver/kernels/attention.h"

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
};

void attention(benchmark::State& state, const Shape& s, const char* kernel) {
  at::NoGradGuard no_grad;
  const AttentionInputs in{at::randn({1, s.heads, s.queries, s.qk_channels}),
                           at::randn({1, s.heads, s.keys, s.qk_channels}),
                           at::randn({1, s.heads, s.keys, s.v_channels})};
  for (auto _ : state) benchmark::DoNotOptimize(attend(in, kernel));

  // A multiply and an add are two operations, as in the paper (App. D).
  const double flops = 2.0 * s.heads * s.queries * s.keys * (s.qk_channels + s.v_channels);
  state.counters["FLOP/s"] = benchmark::Counter(
      flops, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

void register_all() {
  for (const Shape& shape : kShapes) {
    for (const char* kernel : {"tiled", "reference"}) {
      const std::string name = std::string(shape.name) + "/" + kernel;
      benchmark::RegisterBenchmark(name.c_str(), attention, shape, kernel)->UseRealTime();
    }
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
