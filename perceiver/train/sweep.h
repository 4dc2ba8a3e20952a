// A sweep: every combination of some settings trained as a run of its own, several at once, each in
// a process of its own.
#pragma once

#include <functional>
#include <optional>

#include "perceiver/core/file.h"
#include "perceiver/tasks/train_config.h"
#include "perceiver/train/sweep_folder.h"
#include "perceiver/train/sweep_plan.h"

namespace perceiver {

struct SweepRequest {
  std::string config_name;             // as the user says it
  File config;                         // its content
  std::vector<std::string> overrides;  // of all runs
  std::vector<std::string> words;      // the grid, and overrides that are given with it
  std::filesystem::path folder;
  std::string device;            // as the user says it
  std::string command, version;  // for the record
  // run.json of a run that has so many threads.
  std::function<std::string(const TrainConfig&, int64_t threads)> about;
  // What there is to compute with; `runs` and `bytes_per_run` are found out.
  JobLimits limits;
};

// What was found out before anything starts.
struct BegunSweep {
  bool is_new = true;         // false: the folder has this very sweep already
  int64_t bytes_per_run = 0;  // that the largest takes
};

// Makes the folder, or sees that it has this very sweep; fails where it has another one, and for
// all that can be known in advance to go wrong with a run.
BegunSweep begin_sweep(const SweepRequest& request);

// What is left to do after a run.
struct RestOfSweep {
  int64_t runs = 0;
  std::optional<double> seconds = {};  // as far as the runs so far let one tell
};

struct SweepOptions {
  std::string program = "/proc/self/exe";  // `perceiver`
  int64_t jobs = 1, threads = 1, loader_threads = 1;
  std::vector<std::string> devices = {"cpu"};  // that runs are spread over
  // Asked often; other than 0 is a signal: all runs get it, so that they save and stop.
  std::function<int()> stop = [] { return 0; };
  std::function<void(const SweptRun& run)> started = [](const SweptRun&) {};
  std::function<void(const SweptRun& run, const RestOfSweep& rest)> ended =
      [](const SweptRun&, const RestOfSweep&) {};
};

// Works on all runs that are not finished -> what stop() said. A run that fails stops no other.
int run_all(SweepFolder& folder, const SweepOptions& options);

}  // namespace perceiver
