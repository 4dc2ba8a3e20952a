#include "perceiver/bench/sweep.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "perceiver/core/memory.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/nn/transformer.h"

namespace perceiver {
namespace {

using Pass = std::function<void()>;
using MakePass = std::function<Pass(int64_t size)>;

Tensor random_array(int64_t elements, int64_t channels, const SweepRun& run) {
  return at::randn({1, elements, channels}).to(run.device, run.dtype);
}

Pass perceiver_pass(SweepConfig c, const SweepRun& run) {
  PerceiverIo model(
      PerceiverIoChannels{.inputs = c.channels, .queries = c.channels, .outputs = c.channels},
      EncoderConfig{.num_latents = c.num_latents,
                    .latent_channels = c.channels,
                    .num_blocks = 1,
                    .self_attends_per_block = c.num_layers,
                    .self_attend = {.num_heads = c.num_heads}},
      DecoderConfig{});
  model->to(run.device, run.dtype);
  model->eval();
  const int64_t slice = std::min(c.decode_slice, c.num_outputs);
  const Tensor inputs = random_array(c.num_inputs, c.channels, run);
  const Tensor queries = random_array(slice, c.channels, run);  // of every slice: any will do
  return [=]() mutable {
    at::NoGradGuard no_grad;
    const Tensor latents = model->process(model->encode(inputs), inputs);
    for (int64_t begin = 0; begin < c.num_outputs; begin += slice) {
      model->decode(latents, queries.narrow(1, 0, std::min(slice, c.num_outputs - begin)));
    }
  };
}

Pass transformer_pass(int64_t elements, const SweepConfig& c, const SweepRun& run) {
  Transformer model(c.channels, TransformerConfig{.num_layers = c.num_layers,
                                                  .num_heads = c.num_heads,
                                                  .mlp_channels = c.channels});
  model->to(run.device, run.dtype);
  model->eval();
  const Tensor inputs = random_array(elements, c.channels, run);
  return [=]() mutable {
    at::NoGradGuard no_grad;
    model->forward(inputs);
  };
}

// A second of passes, and three where they are not too long for that.
bool goes_on(const std::vector<double>& so_far) {
  const double spent = std::reduce(so_far.begin(), so_far.end());
  return so_far.empty() || (so_far.size() < 100 && spent < 1.0) ||
         (so_far.size() < 3 && spent < 5.0);
}

// What comes next when the size doubles: as much more as the last time, and a little more still,
// for what is quadratic shows late.
double next_of(double last, double before_last) {
  const double growth = before_last > 0.0 ? 1.25 * last / before_last : 4.0;
  return last * std::clamp(growth, 2.0, 4.0);
}

// Why a pass at twice the last size is not tried; empty when it is.
std::string refusal(const std::vector<SweepPoint>& points, const SweepConfig& config,
                    const SweepRun& run) {
  if (points.empty()) return "";
  const SweepPoint& last = points.back();
  const bool first = points.size() == 1;
  const SweepPoint before = first ? SweepPoint{} : points[points.size() - 2];
  const double seconds = next_of(last.seconds.median, before.seconds.median);
  const double bytes = next_of(static_cast<double>(last.bytes), static_cast<double>(before.bytes));
  const auto free = static_cast<double>(free_memory(run.device));
  if (bytes > free) {
    return fmt::format("{} would need about {:.1f} GiB, {:.1f} are free", 2 * last.size,
                       bytes / 0x1p30, free / 0x1p30);
  }
  if (seconds > config.longest) {
    return fmt::format("{} would take about {:.0f} s a pass, longest is {:g}", 2 * last.size,
                       seconds, config.longest);
  }
  return "";
}

SweepCurve curve(const std::string& name, const MakePass& make_pass, const SweepConfig& config,
                 const SweepRun& run) {
  SweepCurve curve;
  reset_peak_memory(run.device);
  const int64_t held_before = held_memory(run.device);
  for (int64_t size = config.smallest; size <= config.largest && !run.stop(); size *= 2) {
    curve.ended = refusal(curve.points, config, run);
    if (!curve.ended.empty()) break;
    run.say(fmt::format("{}, {}", name, size));
    reset_peak_memory(run.device);
    const std::vector<double> seconds =
        measure(make_pass(size), run.device,
                [&](const std::vector<double>& so_far) { return !run.stop() && goes_on(so_far); });
    if (seconds.empty()) break;
    curve.points.push_back({.size = size,
                            .seconds = spread_of(seconds),
                            .bytes = std::max<int64_t>(0, peak_memory(run.device) - held_before)});
  }
  if (run.stop()) curve.ended = "interrupted";
  return curve;
}

SweepConfig with_size(SweepConfig config, SweepAxis axis, int64_t size) {
  if (axis == SweepAxis::kInputs) config.num_inputs = size;
  if (axis == SweepAxis::kOutputs) config.num_outputs = size;
  if (axis == SweepAxis::kLatents) config.num_latents = size;
  return config;
}

std::string cells(const SweepCurve& curve, size_t row) {
  if (row >= curve.points.size()) return ",,,";
  const auto& [size, s, bytes] = curve.points[row];
  return fmt::format("{:.6g},{:.6g},{:.6g},{}", s.median, s.lower_quartile, s.upper_quartile,
                     bytes);
}

}  // namespace

SweepResult sweep(SweepAxis axis, const SweepConfig& config, const SweepRun& run) {
  if (config.channels % config.num_heads != 0) {
    fail("channels ({}) must be a multiple of num_heads ({})", config.channels, config.num_heads);
  }
  if (config.smallest > config.largest) {
    fail("smallest ({}) is more than largest ({})", config.smallest, config.largest);
  }
  // One after the other: what a large Transformer leaves behind would count as Perceiver IO's.
  SweepResult result;
  result.perceiver_io = curve(
      "Perceiver IO",
      [&](int64_t size) { return perceiver_pass(with_size(config, axis, size), run); }, config,
      run);
  result.transformer = curve(
      "Transformer", [&](int64_t size) { return transformer_pass(size, config, run); }, config,
      run);
  return result;
}

std::string to_csv(SweepAxis axis, const SweepResult& result) {
  std::string text(to_word(axis));
  for (const char* model : {"perceiver_io", "transformer"}) {
    for (const char* what : {"seconds", "seconds_lower", "seconds_upper", "bytes"}) {
      text += fmt::format(",{}_{}", model, what);
    }
  }
  text += "\n";
  const auto& [ours, theirs] = result;
  for (size_t row = 0; row < std::max(ours.points.size(), theirs.points.size()); ++row) {
    const SweepCurve& longer = row < ours.points.size() ? ours : theirs;
    text +=
        fmt::format("{},{},{}\n", longer.points[row].size, cells(ours, row), cells(theirs, row));
  }
  return text;
}

}  // namespace perceiver
