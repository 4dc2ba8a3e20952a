#include "perceiver/bench/measure.h"

#include <ATen/DeviceAccelerator.h>
#include <c10/core/Event.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

namespace perceiver {
namespace {

constexpr size_t kFewestPasses = 3, kMostPasses = 1000;

// Of sorted values, at a share of the way from the first to the last.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

void wait_for(at::Device device) {
  if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<double> measure_one_by_one(const std::function<void()>& pass, at::Device device,
                                       const GoOn& go_on) {
  std::vector<double> seconds;
  while (go_on(seconds)) {
    const Clock::time_point start = Clock::now();
    pass();
    wait_for(device);
    seconds.push_back(seconds_since(start));
  }
  return seconds;
}

// From the end of a pass to the end of the next.
std::vector<double> measure_in_a_row(const std::function<void()>& pass, at::Device device,
                                     const GoOn& go_on) {
  const auto end_of_pass = [&] {
    pass();
    c10::Event end(device.type());
    end.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    return end;
  };
  std::vector<double> seconds;
  if (!go_on(seconds)) return seconds;
  c10::Event last = end_of_pass(), next = end_of_pass();
  last.synchronize();
  Clock::time_point start = Clock::now();
  while (go_on(seconds)) {
    last = std::exchange(next, end_of_pass());
    last.synchronize();
    seconds.push_back(seconds_since(start));
    start = Clock::now();
  }
  wait_for(device);
  return seconds;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {.median = quantile(values, 0.5),
          .lower_quartile = quantile(values, 0.25),
          .upper_quartile = quantile(values, 0.75),
          .fastest = values.front(),
          .slowest = values.back()};
}

std::vector<double> measure(const std::function<void()>& pass, at::Device device, const GoOn& go_on,
                            Passes passes) {
  const int warm_ups = device.is_cpu() ? 1 : 5;
  for (int i = 0; i < warm_ups; ++i) pass();
  wait_for(device);
  const bool pauses = passes == Passes::kOneByOne || device.is_cpu();
  return pauses ? measure_one_by_one(pass, device, go_on) : measure_in_a_row(pass, device, go_on);
}

GoOn enough(int64_t passes, double seconds) {
  return [=](const std::vector<double>& so_far) {
    if (passes > 0) return so_far.size() < static_cast<size_t>(passes);
    if (so_far.size() < kFewestPasses) return true;
    return so_far.size() < kMostPasses && std::reduce(so_far.begin(), so_far.end()) < seconds;
  };
}

}  // namespace perceiver
