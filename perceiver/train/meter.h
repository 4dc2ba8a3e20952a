// How fast training goes: what the step line says besides the loss.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <chrono>
#include <string>

#include "perceiver/tasks/train_config.h"
#include "perceiver/train/run_folder.h"

namespace perceiver {

// Operations per second that a product of large matrices reaches on the device: its peak in use.
// The matrices are square; a `size` of 0 takes one that is large enough for the device and quick.
double measured_peak(at::Device device, at::ScalarType dtype, int64_t size = 0);

inline at::ScalarType dtype_of(Precision precision) {
  return precision == Precision::kBFloat16 ? at::kBFloat16 : at::kFloat;
}

class Meter {
 public:
  struct Work {
    at::Device device = at::kCPU;
    at::ScalarType dtype = at::kFloat;
    double flops_per_step = 0.0;
    int64_t examples_per_step = 0;
    int64_t devices = 1;  // such as this one, that share a step
  };
  explicit Meter(const Work& work);

  void add_step() { ++steps_; }

  // Time that is not training (evaluating, saving) does not count.
  void pause();
  void go_on();

  // Of the steps since it last began again, or since the start.
  Metrics figures();
  double seconds_per_step();
  void begin_again();

 private:
  using Clock = std::chrono::steady_clock;

  Work work_;
  double peak_;
  int64_t steps_ = 0;
  Clock::duration spent_ = {};
  Clock::time_point since_ = Clock::now();
};

std::string clock_time(double seconds);  // "3:05", "1:02:03"

// "step 120/1000  loss 2.3140  rate 0.00125  norm 0.81  341 examples/s  …", with as many of the
// figures as `width` has room for.
std::string step_line(int64_t step, int64_t steps, const Metrics& figures, size_t width = 100);

}  // namespace perceiver
