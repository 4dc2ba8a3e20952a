// load_memory CONFIG: saves a model of this config with random weights, loads it, and fails if
// loading takes more private memory than 1.3 times the weights. The time is printed, not judged.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <fstream>

#include "perceiver/nn/layers.h"
#include "perceiver/zoo/model.h"

namespace fs = std::filesystem;

static int64_t private_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string key;
  int64_t kib = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Private_Dirty:")) kib = std::stoll(line.substr(14));
  }
  return kib * 1024;
}

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const fs::path folder = fs::temp_directory_path() / fmt::format("perceiver_load_{}", getpid());
  perceiver::save_model(perceiver::load_model(argv[1]), folder, at::kFloat);
  malloc_trim(0);

  const int64_t before = private_bytes();
  const auto start = std::chrono::steady_clock::now();
  const perceiver::Model model = perceiver::load_model(folder);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const int64_t taken = private_bytes() - before;
  const int64_t weights = 4 * perceiver::num_parameters(model.task->model());
  fs::remove_all(folder);

  const double ratio = static_cast<double>(taken) / static_cast<double>(weights);
  fmt::print("{}: loaded in {:.2f} s, private memory {:.2f} of the weights\n", argv[1],
             seconds.count(), ratio);
  return ratio <= 1.3 ? 0 : 1;
}
