// Pairs of frames that one core makes, at the paper's crop and at small ones:
//   build/flow_generator_bench
#include <benchmark/benchmark.h>

#include "perceiver/tasks/optical_flow/data.h"

namespace perceiver {
namespace {

// An example as training sees it: generated, augmented (or not), cropped.
void example(benchmark::State& state, bool augmented) {
  FlowDataConfig config;
  config.generator.textures = 8;
  config.augmented = augmented;
  const auto data = flow_training_data(config, {state.range(0), state.range(1)});
  uint64_t index = 0;
  for (; index < 50; ++index) {  // until all textures are made
    Rng rng(0, 0, index);
    data->get(0, rng);
  }
  for (auto _ : state) {
    Rng rng(0, 0, index++);
    benchmark::DoNotOptimize(data->get(0, rng));
  }
  state.counters["pairs/s"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
  for (const bool augmented : {false, true}) {
    benchmark::RegisterBenchmark(augmented ? "augmented" : "plain", example, augmented)
        ->Args({64, 96})
        ->Args({96, 128})
        ->Args({128, 160})
        ->Args({368, 496})
        ->Unit(benchmark::kMillisecond);
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
