// The folder of a sweep: a run's folder for each combination (train/run_folder.h) with its log
// beside it, sweep.json, which says what is swept, results.json, and `best`, a link to the best
// run.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perceiver/core/file_lock.h"
#include "perceiver/tasks/figures.h"
#include "perceiver/tasks/measures.h"
#include "perceiver/train/sweep_grid.h"

namespace perceiver {

enum class RunState { kWaiting, kRunning, kFinished, kStopped, kFailed };
constexpr std::array<std::string_view, 5> enum_words(RunState) {
  return {"waiting", "running", "finished", "stopped", "failed"};
}

// One run of a sweep, and how far it has come.
struct SweptRun {
  std::string name = {};  // of its folder
  Combination settings = {};
  RunState state = RunState::kWaiting;
  std::optional<double> value = {};  // the best of its main measure so far
  int64_t steps = 0;                 // done
  double seconds = 0.0;              // that it was worked on
  std::string error = {};            // why it failed
};

// What a sweep was begun with.
struct SweepRecord {
  std::string config;                        // as the user named it
  std::vector<std::string> grid, overrides;  // words of the command line
  MainMeasure measure;
  FigureName shown;               // how people call the measure
  int64_t jobs = 1, threads = 1;  // runs at once, and threads of each
  std::string device;
  std::string command, version;
};

// Their places from the best to the worst: failed ones, and those with nothing measured, come last.
// Of equal ones, and of those, the first remains the first.
std::vector<size_t> ranking(std::span<const SweptRun> runs, bool lower_is_better);

class SweepFolder {
 public:
  struct NewRun {
    std::string name;
    Combination settings;
    std::string config, about;  // config.toml and run.json
  };

  // Fails where there is something else than an empty folder.
  static void check_place(const std::filesystem::path& path);

  // Appears whole or not at all. Fails as check_place() does.
  static void create(const std::filesystem::path& path, const SweepRecord& record,
                     std::span<const NewRun> runs);
  static bool is_one(const std::filesystem::path& path);

  // Fails while another program works in it.
  explicit SweepFolder(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const SweepRecord& record() const { return record_; }
  std::vector<SweptRun>& runs() { return runs_; }
  const std::vector<SweptRun>& runs() const { return runs_; }
  std::filesystem::path run_folder(const SweptRun& run) const { return path_ / run.name; }
  std::filesystem::path log(const SweptRun& run) const { return path_ / (run.name + ".log"); }

  // Finds out what the run has reached: its steps and its value.
  void look_at(SweptRun& run) const;

  const SweptRun* best() const;  // null: nothing was measured
  std::string results() const;   // as JSON, the best run first
  void write_results() const;    // results.json and `best`

 private:
  std::filesystem::path path_;
  FileLock lock_;
  SweepRecord record_;
  std::vector<SweptRun> runs_;
};

}  // namespace perceiver
