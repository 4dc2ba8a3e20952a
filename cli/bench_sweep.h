// perceiver bench --sweep: curves over a size, as CSV and as a picture.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

struct SweepArgs {
  std::string axis;                   // "inputs", "outputs" or "latents"
  std::string output;                 // NAME of NAME.csv and NAME.svg
  std::vector<std::string> settings;  // key=value pairs of SweepConfig
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  bool json = false;
};

// What was measured before `stop` said so is written all the same.
void run_sweep(const SweepArgs& args, const std::function<bool()>& stop);

}  // namespace perceiver
