// The options of `perceiver train`.
#pragma once

#include <string>
#include <vector>

#include "cli/ranks.h"
#include "perceiver/tasks/train_config.h"

namespace CLI {
class App;
}

namespace perceiver {

struct TrainArgs {
  std::string config, output, resume, from, dtype, device = "auto";
  std::vector<std::string> overrides, data, new_head, freeze;
  bool keys = false, overfit_batch = false, quiet = false;
  int64_t threads = 0, loader_threads = 0;
  RankArgs ranks;
};

// What --keys asks for.
void print_keys(const TrainArgs& args);

void add_train_options(CLI::App& command, TrainArgs& args);

// Those of them that every run of `perceiver sweep` gets, too: data, weights to begin with, device.
void add_run_options(CLI::App& command, TrainArgs& args);

// Flags are a short way to say what the config says: a run's config.toml is then complete.
std::vector<std::string> overrides_of(const TrainArgs& args);

// Of each of so many processes on this machine.
int64_t loader_threads(const TrainArgs& args, int64_t processes = 1);

}  // namespace perceiver
