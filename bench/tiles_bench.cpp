// Products on a CPU's register tiles, by one thread, at the sizes of the paper's models:
//   build/tiles_bench
//   PERCEIVER_ISA=avx512 build/tiles_bench   # held to an instruction set (kernels/cpu/tiles.h)
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
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
    {"flow_values", 64, 240, 322},       {"flow_content", 64, 240, 64},
    {"one_vector", 64, 512, 8},
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
  const int64_t width = layer ? tiles.panel_columns : s.columns;
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
    const T* weights = panels.data() + i % layers * panel_size;
    for (int64_t column = 0; column < s.columns; column += width) {
      const T* panel = weights + tiles.panel_size(s.depth, column);
      const int64_t columns = std::min(width, s.columns - column);
      const T* next = panel + tiles.panel_size(s.depth, columns);
      tiles.multiply({.a = a.data(),
                      .a_stride = s.depth,
                      .rows = s.rows,
                      .panels = panel,
                      .depth = s.depth,
                      .columns = columns,
                      .c = c.data() + column,
                      .c_stride = s.columns,
                      .ahead = layer ? next : nullptr,
                      .ahead_end = layer ? next + tiles.panel_size(s.depth, width) : nullptr});
    }
    benchmark::ClobberMemory();
    ++i;
  }
  state.counters["FLOP/s"] = benchmark::Counter(
      2.0 * static_cast<double>(s.rows * s.depth * s.columns),
      benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

// A tile of scores to weights, as a stream of keys does; exponentials a second.
template <typename T>
void softmax(benchmark::State& state, const Tiles<T>& tiles) {
  constexpr int64_t kRows = 64;
  const int64_t columns = tiles.key_block;
  std::vector<float> scores(kRows * columns), maximum(kRows), sum(kRows), factor(kRows);
  std::vector<T> weights(kRows * columns);
  fill(scores);
  for (auto _ : state) {
    std::fill(maximum.begin(), maximum.end(), -1e30f);
    tiles.softmax({.scores = scores.data(),
                   .rows = kRows,
                   .columns = columns,
                   .stride = columns,
                   .scale = 1.0f,
                   .maximum = maximum.data(),
                   .sum = sum.data(),
                   .factor = factor.data(),
                   .weights = weights.data(),
                   .weights_stride = columns});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kRows * columns);
}

template <typename T>
void register_all(const Tiles<T>& tiles) {
  for (const Shape& shape : kShapes) {
    benchmark::RegisterBenchmark(fmt::format("{}/{}", shape.name, tiles.name).c_str(),
                                 [&](benchmark::State& state) { multiply(state, tiles, shape); });
  }
  benchmark::RegisterBenchmark(fmt::format("softmax/{}", tiles.name).c_str(),
                               [&](benchmark::State& state) { softmax(state, tiles); });
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
