#include "perceiver/train/meter.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "perceiver/core/memory.h"

namespace perceiver {
namespace {

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

std::string clock_time(double value) {
  const auto whole = static_cast<int64_t>(value + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

double measured_peak(at::Device device, at::ScalarType dtype, int64_t size) {
  at::NoGradGuard no_grad;
  if (size == 0) size = device.is_cuda() ? 8192 : 1024;
  // Random numbers: a GPU multiplies ones faster, for they take less power.
  const at::Tensor a = at::randn({size, size}, at::TensorOptions(device)).to(dtype);
  double best = 0.0;
  for (int i = 0; i < 6; ++i) {  // the first warms up
    const auto start = std::chrono::steady_clock::now();
    at::mm(a, a)[0][0].item<float>();  // waits for a GPU
    const double flops = 2.0 * static_cast<double>(size) * size * size;
    best = std::max(best, flops / seconds(std::chrono::steady_clock::now() - start));
  }
  return best;
}

Meter::Meter(const Work& work) : work_(work), peak_(measured_peak(work.device, work.dtype)) {
  since_ = Clock::now();
}

void Meter::pause() { spent_ += Clock::now() - since_; }

void Meter::go_on() { since_ = Clock::now(); }

double Meter::seconds_per_step() {
  pause();
  go_on();
  return seconds(spent_) / static_cast<double>(std::max<int64_t>(1, steps_));
}

Metrics Meter::figures() {
  const double per_step = seconds_per_step(), flops = work_.flops_per_step / per_step;
  return {{"examples_per_second", static_cast<double>(work_.examples_per_step) / per_step},
          {"tflops", flops / 1e12},
          {"peak_share", flops / peak_ / static_cast<double>(work_.devices)},
          {"memory_bytes", static_cast<double>(peak_memory(work_.device))}};
}

void Meter::begin_again() {
  steps_ = 0;
  spent_ = {};
  since_ = Clock::now();
}

std::string step_line(int64_t step, int64_t steps, const Metrics& f, size_t width) {
  struct Field {
    int rank;  // the highest goes first where there is no room
    std::string text;
  };
  std::vector<Field> line = {{0, fmt::format("step {}/{}", step, steps)},
                             {0, fmt::format("loss {:.4f}", f.at("loss"))},
                             {3, fmt::format("rate {:.3g}", f.at("learning_rate"))},
                             {4, fmt::format("norm {:.3g}", f.at("gradient_norm"))},
                             {2, fmt::format("{:.3g} examples/s", f.at("examples_per_second"))},
                             {6, fmt::format("{:.0f} % of peak", 100.0 * f.at("peak_share"))},
                             {5, fmt::format("{:.2f} GiB", f.at("memory_bytes") / (1 << 30))},
                             {1, clock_time(f.at("seconds_left")) + " left"}};
  const auto text = [&] {
    std::vector<std::string> words;
    for (const Field& field : line) words.push_back(field.text);
    return fmt::format("{}", fmt::join(words, "  "));
  };
  for (int rank = 6; rank > 0 && text().size() > width; --rank) {
    std::erase_if(line, [&](const Field& field) { return field.rank == rank; });
  }
  return text().substr(0, width);
}

}  // namespace perceiver
