#include "cli/bench_report.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/format.h"
#include "cli/session.h"
#include "perceiver/train/meter.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

std::string between(const Spread& s) {
  return fmt::format("{} - {}", duration(s.lower_quartile), duration(s.upper_quartile));
}

// A product that is large for the device, and smaller where it would take seconds: CPUs multiply
// halves one by one.
int64_t product_size(at::Device device, at::ScalarType dtype) {
  if (device.is_cuda()) return 8192;
  constexpr int64_t kLargest = 2048;
  for (int64_t size = 256; size < kLargest; size *= 2) {
    const double flops_of_next = 16.0 * static_cast<double>(size * size * size);
    if (flops_of_next / measured_peak(device, dtype, size) > 0.5) return size;
  }
  return kLargest;
}

}  // namespace

BenchPlace bench_place(const std::string& mode, at::Device device, at::ScalarType dtype) {
  const int64_t size = product_size(device, dtype);
  return {.mode = mode,
          .device = device.str(),
          .dtype = dtype_word(dtype),
          .threads = at::get_num_threads(),
          .product_size = size,
          .ceiling = measured_peak(device, dtype, size)};
}

std::string duration(double seconds) {
  const auto three_digits = [](double value, const char* unit) {
    const int behind_the_point = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, behind_the_point, unit);
  };
  if (seconds < 1e-3) return three_digits(seconds * 1e6, "us");
  if (seconds < 1.0) return three_digits(seconds * 1e3, "ms");
  return three_digits(seconds, "s");
}

Json to_json(const BenchPlace& place) {
  return {{"mode", place.mode},
          {"device", place.device},
          {"dtype", place.dtype},
          {"threads", place.threads},
          {"product_size", place.product_size},
          {"product_tflops", place.ceiling / 1e12}};
}

Json to_json(const BenchResult& r, const BenchPlace& place) {
  const Spread s = r.spread();
  return {{"name", r.name},
          {"source", r.source},
          {"origin", r.origin},
          {"attention", r.attention},
          {"batch", r.batch},
          {"parameters", r.parameters},
          {"flops", r.flops},
          {"seconds",
           {{"median", s.median},
            {"lower_quartile", s.lower_quartile},
            {"upper_quartile", s.upper_quartile},
            {"fastest", s.fastest},
            {"slowest", s.slowest},
            {"all", r.seconds}}},
          {r.examples_are + "_per_second", r.examples_per_second()},
          {"tflops", r.flops_per_second() / 1e12},
          {"product_share", r.flops_per_second() / place.ceiling},
          {"peak_memory_bytes", r.peak_bytes}};
}

std::string bench_table(const std::vector<BenchResult>& results, const BenchPlace& place) {
  std::vector<std::vector<std::string>> rows = {{"model", "batch", "passes", "time", "half between",
                                                 "a second", "TFLOP/s", "of a product",
                                                 "peak memory"}};
  for (const BenchResult& r : results) {
    const Spread s = r.spread();
    rows.push_back({r.name, std::to_string(r.batch), std::to_string(r.seconds.size()),
                    duration(s.median), between(s),
                    fmt::format("{:.3g} {}", r.examples_per_second(), r.examples_are),
                    fmt::format("{:.3g}", r.flops_per_second() / 1e12),
                    fmt::format("{:.0f} %", 100.0 * r.flops_per_second() / place.ceiling),
                    bytes(r.peak_bytes)});
  }
  const std::string heading = fmt::format(
      "{} on {}, {}, {}; a product of {} x {} reaches {:.3g} TFLOP/s\n\n",
      place.mode == "train" ? "training steps" : "forward passes", place.device, place.dtype,
      place.threads == 1 ? "1 thread" : fmt::format("{} threads", place.threads),
      place.product_size, place.product_size, place.ceiling / 1e12);
  return heading + table(rows) + "\n" +
         wrapped(
             "Time is the median, beside it the quartiles. Operations are those of the "
             "definition, whatever was computed.",
             2);
}

std::string bench_csv(const std::vector<BenchResult>& results, const BenchPlace& place) {
  std::string text =
      "name,mode,device,dtype,threads,batch,passes,median_seconds,lower_quartile_seconds,"
      "upper_quartile_seconds,per_second,tflops,product_tflops,peak_memory_bytes\n";
  for (const BenchResult& r : results) {
    const Spread s = r.spread();
    text +=
        fmt::format("{},{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{}\n", r.name,
                    place.mode, place.device, place.dtype, place.threads, r.batch, r.seconds.size(),
                    s.median, s.lower_quartile, s.upper_quartile, r.examples_per_second(),
                    r.flops_per_second() / 1e12, place.ceiling / 1e12, r.peak_bytes);
  }
  return text;
}

}  // namespace perceiver
