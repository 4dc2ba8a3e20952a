// What `perceiver sweep` says of its runs.
#pragma once

#include <string>

#include "perceiver/train/sweep.h"

namespace perceiver {

// "batch=16: top-1 61.2 % after 400 steps, 3:05; 3 runs left, about 9 minutes"
std::string ended_line(const SweptRun& run, const SweepRecord& record, const RestOfSweep& rest);

// "2 runs at once, 4 threads each"
std::string at_once(int64_t jobs, int64_t threads);

// A row for each run, the best first: what tells it from others, the measure, steps and time; below
// it why runs failed.
std::string results_table(const SweepFolder& folder);

}  // namespace perceiver
