#include "cli/sweep_report.h"

#include <algorithm>

#include "perceiver/core/text.h"
#include "perceiver/train/duration.h"
#include "perceiver/train/meter.h"

namespace perceiver {
namespace {

std::string count(int64_t number, const std::string& what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string left(const RestOfSweep& rest) {
  if (rest.runs == 0) return "";
  const std::string time = rest.seconds ? ", about " + about_time(*rest.seconds) : "";
  return fmt::format("; {} left{}", count(rest.runs, "run"), time);
}

std::string value_of_run(const SweptRun& run, const SweepRecord& record) {
  return run.value ? value_text(*run.value, record.shown.unit) : "-";
}

// The value of the key, as it was given; "-" in a run that leaves it alone.
std::string setting_of(const SweptRun& run, const std::string& key) {
  const auto found = std::ranges::find(run.settings, key, &GridSetting::key);
  return found == run.settings.end() ? "-" : found->value;
}

}  // namespace

std::string at_once(int64_t jobs, int64_t threads) {
  return fmt::format("{} at once, {}{}", count(jobs, "run"), count(threads, "thread"),
                     jobs == 1 ? "" : " each");
}

std::string ended_line(const SweptRun& run, const SweepRecord& record, const RestOfSweep& rest) {
  if (run.state == RunState::kFailed) {
    return fmt::format("{}: failed: {}{}", run.name, run.error, left(rest));
  }
  const std::string done = count(run.steps, "step") + ", " + clock_time(run.seconds);
  if (run.state == RunState::kStopped) return fmt::format("{}: stopped after {}", run.name, done);
  if (!run.value) return fmt::format("{}: finished after {}{}", run.name, done, left(rest));
  return fmt::format("{}: {} {} after {}{}", run.name, record.shown.name, value_of_run(run, record),
                     done, left(rest));
}

std::string results_table(const SweepFolder& folder) {
  const SweepRecord& record = folder.record();
  std::vector<Combination> all;
  for (const SweptRun& run : folder.runs()) all.push_back(run.settings);
  const std::vector<std::string> keys = keys_of(all);
  const bool whole = std::ranges::all_of(
      folder.runs(), [](const SweptRun& run) { return run.state == RunState::kFinished; });
  std::vector<std::vector<std::string>> rows = {short_names(keys)};
  for (const std::string& name : {record.shown.name, std::string("steps"), std::string("time")}) {
    rows[0].push_back(name);
  }
  if (!whole) rows[0].push_back("state");
  std::string errors;
  for (const size_t place : ranking(folder.runs(), record.measure.lower_is_better)) {
    const SweptRun& run = folder.runs()[place];
    std::vector<std::string> row;
    for (const std::string& key : keys) row.push_back(setting_of(run, key));
    row.push_back(value_of_run(run, record));
    row.push_back(std::to_string(run.steps));
    row.push_back(clock_time(run.seconds));
    if (!whole) row.emplace_back(to_word(run.state));
    rows.push_back(std::move(row));
    if (run.state == RunState::kFailed) errors += fmt::format("{}: {}\n", run.name, run.error);
  }
  return table(rows) + errors;
}

}  // namespace perceiver
