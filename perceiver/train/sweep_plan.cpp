#include "perceiver/train/sweep_plan.h"

#include <algorithm>
#include <array>
#include <set>

#include "perceiver/core/lines.h"
#include "perceiver/core/memory.h"
#include "perceiver/train/trainer.h"

namespace perceiver {
namespace {

// What is estimated, an eighth more: evaluations, the loader's examples, gaps between tensors.
constexpr int64_t kMargin = 8;
// The GPU's driver, its libraries and their work space.
constexpr int64_t kGpuBase = int64_t{1} << 30;
// Runs on one GPU take turns; a few fill each other's gaps, more only wait.
constexpr int64_t kMostOnAGpu = 4;

// The settings without those that change neither what a run begins with nor what a step takes.
std::string kind_of(const Settings& settings) {
  constexpr std::array<std::string_view, 15> kIdle = {
      "learning_rate",  "beta1",     "beta2",      "epsilon",    "weight_decay",
      "schedule",       "steps",     "clip",       "seed",       "warmup_steps",
      "constant_share", "log_every", "eval_every", "save_every", "label_smoothing"};
  std::string kind;
  for (const std::string& line : lines_of(settings.text())) {
    const bool idle = std::ranges::any_of(kIdle, [&](std::string_view key) {
      return line.starts_with(fmt::format("train.{} = ", key));
    });
    if (!idle) kind += line + "\n";
  }
  return kind;
}

int64_t with_margin(int64_t bytes) { return bytes + bytes / kMargin; }

void rehearse_one(const RehearsedRun& run, bool with_data, bool on_cpu, Rehearsal& all) {
  const int64_t free_bytes = free_memory(at::kCPU);
  Model model = new_model(run.settings);
  Training& training = training_of(model);
  TrainerOptions options;
  if (!with_data) options.only_batch = training.random_batch(1);
  Trainer trainer(model, options);
  const StepMemory step = trainer.step_memory();
  const TrainConfig& config = training.config();
  if (on_cpu) check_memory(step, config, free_bytes);
  const int64_t step_bytes = step.of(config.batch / config.accumulate);
  int64_t weights = 0;
  for (const Tensor& weight : model.task->model().parameters()) {
    weights += static_cast<int64_t>(weight.nbytes());
  }
  all.measure = training.main_measure();
  all.shown = training.figure_name(all.measure.name);
  all.cpu_bytes = std::max(all.cpu_bytes, with_margin(held_memory(at::kCPU) + step_bytes));
  all.gpu_bytes = std::max(all.gpu_bytes, kGpuBase + with_margin(weights + step_bytes));
}

}  // namespace

Rehearsal rehearse(std::span<const RehearsedRun> runs, bool on_cpu) {
  Rehearsal all;
  std::set<std::string> kinds;
  for (const RehearsedRun& run : runs) {
    if (!kinds.insert(kind_of(*run.settings)).second) continue;
    const bool first = kinds.size() == 1;
    try {
      rehearse_one(run, first, on_cpu, all);
    } catch (const Error& e) {
      if (first) throw;  // most likely it is wrong with all of them
      fail("{}: {}", run.name, e.what());
    }
  }
  reset_peak_memory(at::kCPU);  // what this has taken, the runs will need
  return all;
}

JobPlan plan_jobs(const JobLimits& limits) {
  int64_t room = 0;
  for (const int64_t free : limits.free_bytes) {
    const int64_t fitting = limits.bytes_per_run > 0 ? free / limits.bytes_per_run : limits.runs;
    room += limits.on_cpu ? fitting : std::min(fitting, kMostOnAGpu);
  }
  const int64_t chosen = limits.wanted > 0 ? limits.wanted : std::min(room, limits.threads);
  const int64_t jobs = std::clamp<int64_t>(chosen, 1, limits.runs);
  return {jobs, std::max<int64_t>(1, limits.threads / jobs)};
}

}  // namespace perceiver
