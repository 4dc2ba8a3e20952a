// What `perceiver bench` has measured, for people and for machines.
#pragma once

#include <c10/core/ScalarType.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "perceiver/bench/measure.h"

namespace perceiver {

// What all of a run's figures have in common.
struct BenchPlace {
  std::string mode;  // "forward" or "train"
  std::string device, dtype;
  int threads = 0;
  int64_t product_size = 0;  // of the square matrices whose product is the ceiling
  double ceiling = 0.0;      // operations a second of that product, in this run
};

// Measures the product.
BenchPlace bench_place(const std::string& mode, at::Device device, at::ScalarType dtype);

struct BenchResult {
  std::string name, source, origin, attention;
  std::string examples_are;  // "examples" or "frames"
  int64_t batch = 1, parameters = 0;
  double flops = 0.0;  // a pass, by the definition
  std::vector<double> seconds = {};
  int64_t peak_bytes = 0;

  Spread spread() const { return spread_of(seconds); }
  double examples_per_second() const { return static_cast<double>(batch) / spread().median; }
  double flops_per_second() const { return flops / spread().median; }
};

std::string duration(double seconds);  // "3.21 ms"

nlohmann::ordered_json to_json(const BenchPlace& place);
nlohmann::ordered_json to_json(const BenchResult& result, const BenchPlace& place);
std::string bench_table(const std::vector<BenchResult>& results, const BenchPlace& place);
std::string bench_csv(const std::vector<BenchResult>& results, const BenchPlace& place);

}  // namespace perceiver
