// What Perceiver IO and a Transformer cost as arrays grow (paper, Sec. 3: linear in inputs and in
// outputs, where a Transformer is quadratic).
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/bench/measure.h"
#include "perceiver/core/config.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

enum class SweepAxis { kInputs, kOutputs, kLatents };
constexpr std::array<std::string_view, 3> enum_words(SweepAxis) {
  return {"inputs", "outputs", "latents"};
}

// Both have so many layers of so many channels, and MLPs as wide as their elements. What is not
// swept stays as it is here.
struct SweepConfig {
  int64_t channels = 256;
  int64_t num_layers = 6;
  int64_t num_heads = 8;
  int64_t num_inputs = 2048;
  int64_t num_latents = 256;
  int64_t num_outputs = 2048;
  int64_t decode_slice = 2048;  // outputs at once: they are used and forgotten slice by slice
  int64_t smallest = 256, largest = 131072;  // of the size that is swept, doubling
  double longest = 10.0;                     // seconds a pass may take
};

template <typename Visitor>
void fields(Visitor& visit, SweepConfig& c) {
  visit("channels", c.channels, at_least(1));
  visit("num_layers", c.num_layers, at_least(1));
  visit("num_heads", c.num_heads, at_least(1));
  visit("num_inputs", c.num_inputs, at_least(1));
  visit("num_latents", c.num_latents, at_least(1));
  visit("num_outputs", c.num_outputs, at_least(1));
  visit("decode_slice", c.decode_slice, at_least(1));
  visit("smallest", c.smallest, at_least(1));
  visit("largest", c.largest, at_least(1));
  visit("longest", c.longest, at_least(0.0));
}

struct SweepPoint {
  int64_t size;
  Spread seconds;
  int64_t bytes;  // at the peak, beyond what the program held before the first of them
};

// One of the two as the size grows. It ends at the largest size, or where `ended` says why.
struct SweepCurve {
  std::vector<SweepPoint> points = {};
  std::string ended = {};  // "65,536 would take about 21 s a pass"
};

struct SweepResult {
  SweepCurve perceiver_io, transformer;
};

struct SweepRun {
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  std::function<bool()> stop = [] { return false; };  // asked before each pass
  std::function<void(const std::string& what)> say = [](const std::string&) {};
};

// A Transformer has one array: it gets as many elements as the size that is swept.
SweepResult sweep(SweepAxis axis, const SweepConfig& config, const SweepRun& run);

// A line each size: seconds (median, quartiles) and bytes of both; empty where not measured.
std::string to_csv(SweepAxis axis, const SweepResult& result);

}  // namespace perceiver
