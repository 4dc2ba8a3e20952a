// What lies in a model's weights file, and whether it is what the model needs, before anything is
// loaded.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/zoo/weights_match.h"

namespace perceiver {

struct WeightsReport {
  std::string source;                          // the file or index
  std::map<std::string, int64_t> dtypes = {};  // "float32" -> how many tensors
  int64_t tensors = 0, bytes = 0;
  std::vector<WeightsProblem> problems = {};  // empty: all there
};

// Of a folder or a checkpoint and its settings (settings_file()). Names and shapes are compared as
// load_model() compares them; of safetensors no value is read. A file that cannot be read is an
// Error.
WeightsReport report_weights(const std::filesystem::path& model, const Settings& settings);

// "1 missing, 2 superfluous, 3 of another shape"
std::string count_problems(const std::vector<WeightsProblem>& problems);

}  // namespace perceiver
