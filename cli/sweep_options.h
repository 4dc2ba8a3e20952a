// The options of `perceiver sweep`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/train_options.h"

namespace perceiver {

struct GridArgs {
  TrainArgs train;  // its overrides are the grid's words
  int64_t jobs = 0;
  std::optional<int64_t> seed;
  bool json = false;
};

void add_sweep_options(CLI::App& command, GridArgs& args);

// What flags say of all runs, as a config says it.
std::vector<std::string> flags_of(const GridArgs& args);

// Fails where neither a sweep to begin with nor one to go on with is named, or both are.
void check_arguments(const GridArgs& args);

}  // namespace perceiver
