// How many runs of a sweep go at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "perceiver/tasks/figures.h"
#include "perceiver/tasks/measures.h"
#include "perceiver/tasks/settings.h"

namespace perceiver {

// What is known of runs before they start.
struct Rehearsal {
  MainMeasure measure;
  FigureName shown;
  int64_t cpu_bytes = 0;  // that the largest takes, all in all, computing on a CPU
  int64_t gpu_bytes = 0;  // on a GPU
};

struct RehearsedRun {
  std::string name;
  std::shared_ptr<const Settings> settings;
};

// Gets each run as far as its first step, on the CPU, or one of those that differ in nothing that
// matters for that: what is wrong with it is an error now. The first one's data are read, too.
// Where they are to run on a CPU, fails for one whose step takes more memory than is free.
Rehearsal rehearse(std::span<const RehearsedRun> runs, bool on_cpu);

struct JobLimits {
  int64_t runs = 1, threads = 1;
  int64_t wanted = 0;  // by the user; 0: as many as there is room for
  int64_t bytes_per_run = 0;
  std::vector<int64_t> free_bytes = {};  // of each device
  bool on_cpu = true;
};

struct JobPlan {
  int64_t jobs = 1, threads = 1;  // runs at once, and threads of each
};

JobPlan plan_jobs(const JobLimits& limits);

}  // namespace perceiver
