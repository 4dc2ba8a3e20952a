// Products on a CPU's register tiles, by one thread, at the sizes of the paper's models:
//   build/tiles_bench
//   PERCEIVER_ISA=avx512 build/tiles_bench   # held to an instruction set (kernels/cpu/tiles.h)
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "perceiver/kernels/cpu/tiles.h"

namespace perceiver {
namespace {

struct Shape {
  const char* name;
  int64_t rows, depth, columns;
};
// Layers, with all the weights of one; and what a stream of keys does over and over.
constexpr Shape kShapes[] = {
    {"language_layer", 256, 1280, 1280}, {"imagenet_layer", 512, 1024, 1024},
    {"flow_layer", 2048, 512, 1536},     {"language_scores", 64, 32, 240},
    {"language_values", 64, 240, 160},   {"flow_scores", 64, 64, 240},
    {"flow_values", 64, 240, 322},
};

float drawn(std::mt19937& random) { return std::normal_distribution<float>()(random); }

void fill(std::vector<float>& x) {
  std::mt19937 random(1);
  for (float& value : x) value = drawn(random);
}
void fill(std::vector<Bf16>& x) {
  std::mt19937 random(1);
  for (Bf16& value : x) {
    value.bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(drawn(random)) >> 16);
  }
}

template <typename T>
void multiply(benchmark::State& state, const Tiles<T>& tiles, const Shape& s) {
  // As many layers as do not fit the caches: each product has weights from memory, as in a model.
  constexpr int64_t kBytes = int64_t{256} << 20;
  const int64_t panel_size = tiles.panel_size(s.depth, s.columns);
  const bool layer = s.rows > 64;
  const int64_t layers = layer ? kBytes / (panel_size * static_cast<int64_t>(sizeof(T))) : 1;
  std::vector<T> a(s.rows * s.depth), b(s.depth * s.columns), panels(panel_size * layers);
  std::vector<float> c(s.rows * s.columns);
  fill(a);
  fill(b);
  for (int64_t i = 0; i < layers; ++i) {
    tiles.pack(b.data(), s.columns, s.depth, s.columns, panels.data() + i * panel_size);
  }
  int64_t i = 0;
  for (auto _ : state) {
    tiles.multiply({.a = a.data(),
                    .a_stride = s.depth,
                    .rows = s.rows,
                    .panels = panels.data() + i % layers * panel_size,
                    .depth = s.depth,
                    .columns = s.columns,
                    .c = c.data(),
                    .c_stride = s.columns,
                    .from_memory = layer});
    benchmark::ClobberMemory();
    ++i;
  }
  state.counters["FLOP/s"] = benchmark::Counter(
      2.0 * static_cast<double>(s.rows * s.depth * s.columns),
      benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

template <typename T>
void register_all(const Tiles<T>& tiles) {
  for (const Shape& shape : kShapes) {
    benchmark::RegisterBenchmark(fmt::format("{}/{}", shape.name, tiles.name).c_str(),
                                 [&](benchmark::State& state) { multiply(state, tiles, shape); });
  }
}

}  // namespace
}  // namespace perceiver

int main(int argc, char** argv) {
  perceiver::register_all(perceiver::float_tiles());
  if (perceiver::bf16_tiles()) perceiver::register_all(*perceiver::bf16_tiles());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
