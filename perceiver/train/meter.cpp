#include "perceiver/train/meter.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "perceiver/core/memory.h"

namespace perceiver {
namespace {

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

std::string clock_time(double value) {
  const auto whole = static_cast<int64_t>(value + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

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

Figures Meter::figures(int64_t left) {
  pause();
  go_on();
  const double per_step = seconds(spent_) / static_cast<double>(std::max<int64_t>(1, steps_));
  const double flops = work_.flops_per_step / per_step;
  steps_ = 0;
  spent_ = {};
  return {{"examples_per_second", static_cast<double>(work_.examples_per_step) / per_step},
          {"tflops", flops / 1e12},
          {"peak_share", flops / peak_},
          {"memory_bytes", static_cast<double>(peak_memory(work_.device))},
          {"seconds_left", per_step * static_cast<double>(left)}};
}

std::string step_line(int64_t step, int64_t steps, const Figures& f) {
  return fmt::format(
      "step {}/{}  loss {:.4f}  rate {:.3g}  norm {:.3g}  {:.3g} examples/s  {:.3g} TFLOP/s "
      "({:.0f} % of peak)  {:.2f} GiB  {} left",
      step, steps, f.at("loss"), f.at("learning_rate"), f.at("gradient_norm"),
      f.at("examples_per_second"), f.at("tflops"), 100.0 * f.at("peak_share"),
      f.at("memory_bytes") / (1 << 30), clock_time(f.at("seconds_left")));
}

}  // namespace perceiver
