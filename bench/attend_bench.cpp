// Attend modules at the paper's own shapes, as packed for inference and as they are defined:
//   build/attend_bench --benchmark_filter=flow
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>

#include "perceiver/nn/attention.h"

namespace perceiver {
namespace {

struct Shape {
  const char* name;
  int64_t queries, keys, q_channels, kv_channels;  // no keys: a self-attend
  AttendConfig config;
};
const Shape kShapes[] = {
    {"imagenet_encode", 512, 50'176, 1024, 261, {.num_heads = 1}},
    {"imagenet_process", 512, 0, 1024, 0, {.num_heads = 8}},
    {"language_encode",
     256,
     2048,
     1280,
     768,
     {.num_heads = 8, .qk_channels = 256, .v_channels = 1280}},
    {"language_process", 256, 0, 1280, 0, {.num_heads = 8, .qk_channels = 256, .v_channels = 1280}},
    {"flow_encode", 2048, 182'528, 512, 322, {.num_heads = 1}},
    {"flow_process", 2048, 0, 512, 0, {.num_heads = 16}},
    {"flow_decode", 16'384, 2048, 322, 512, {.num_heads = 1, .query_residual = false}},
};

void attend(benchmark::State& state, const Shape& s, const char* kernel, at::ScalarType dtype) {
  at::NoGradGuard no_grad;
  const AttentionKernelScope scope(kernel);
  const auto measure = [&](auto module, const auto& forward, int64_t flops) {
    module->to(dtype);
    forward(module);  // packs
    for (auto _ : state) benchmark::DoNotOptimize(forward(module));
    // As the paper counts (App. D), whatever the form saves.
    state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(flops),
                                                  benchmark::Counter::kIsIterationInvariantRate,
                                                  benchmark::Counter::kIs1000);
  };
  const Tensor x_q = at::randn({1, s.queries, s.q_channels}).to(dtype);
  if (s.keys == 0) {
    SelfAttend module(s.q_channels, s.config);
    return measure(
        module, [&](SelfAttend m) { return m(x_q); }, module->flops(s.queries));
  }
  const Tensor x_kv = at::randn({1, s.keys, s.kv_channels}).to(dtype);
  CrossAttend module(s.q_channels, s.kv_channels, s.config);
  measure(
      module, [&](CrossAttend m) { return m(x_q, x_kv); }, module->flops(s.queries, s.keys));
}

void register_all() {
  for (const Shape& shape : kShapes) {
    for (const char* kernel : {"auto", "tiled"}) {
      for (const auto dtype : {at::kFloat, at::kBFloat16}) {
        const std::string name =
            fmt::format("{}/{}/{}", shape.name, kernel == std::string("auto") ? "packed" : "module",
                        dtype == at::kFloat ? "float32" : "bfloat16");
        benchmark::RegisterBenchmark(name.c_str(), attend, shape, kernel, dtype)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      }
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
