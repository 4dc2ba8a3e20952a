// What was measured of a model, as `perceiver eval` prints it.
#pragma once

#include <filesystem>
#include <string>

#include "perceiver/train/evaluate.h"

namespace perceiver {

// `output`: the file that the measured batches went to; empty: none.
std::string eval_json(const Evaluation& result, const std::filesystem::path& model,
                      const std::string& output);
std::string eval_table(const Evaluation& result, const Training& training,
                       const std::string& output);

}  // namespace perceiver
