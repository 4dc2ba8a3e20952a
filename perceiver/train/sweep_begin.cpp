// What comes before the first run of a sweep: every combination is read, checked and written down.
#include <map>

#include "perceiver/core/error.h"
#include "perceiver/train/sweep.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

std::vector<RehearsedRun> read_runs(const SweepRequest& request, std::span<const Combination> all,
                                    const std::vector<std::string>& common) {
  const std::vector<std::string> names = run_names(all);
  std::vector<RehearsedRun> runs;
  std::map<std::string, std::string> known;
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> overrides = common;
    for (std::string& word : as_overrides(all[i])) overrides.push_back(std::move(word));
    runs.push_back({names[i], read_settings(request.config, overrides)->with_absolute_paths()});
    const auto [before, is_new] = known.emplace(runs.back().settings->text(), names[i]);
    if (!is_new) {
      fail("command line: the runs {} and {} have the same settings", before->second, names[i]);
    }
  }
  return runs;
}

// By what each run's config says: programs of other versions may write it in other words.
bool has_this_sweep(const SweepFolder& folder, std::span<const RehearsedRun> runs) {
  if (folder.runs().size() != runs.size()) return false;
  for (size_t i = 0; i < runs.size(); ++i) {
    const SweptRun& one = folder.runs()[i];
    if (one.name != runs[i].name) return false;
    const File config = read_file(folder.run_folder(one) / "config.toml");
    if (read_settings(config)->text() != runs[i].settings->text()) return false;
  }
  return true;
}

}  // namespace

BegunSweep begin_sweep(const SweepRequest& request) {
  std::vector<std::string> words = request.overrides;
  words.insert(words.end(), request.words.begin(), request.words.end());
  const Grid grid = parse_grid(words);
  const std::vector<Combination> all = combinations(grid);
  const std::vector<RehearsedRun> runs = read_runs(request, all, grid.overrides);
  if (SweepFolder::is_one(request.folder)) {
    if (has_this_sweep(SweepFolder(request.folder), runs)) return {.is_new = false};
    fail(
        "{}: has a sweep of another config, grid or settings; go on with that one by 'perceiver "
        "sweep --resume {}', or name another folder with -o",
        request.folder.string(), request.folder.string());
  }
  SweepFolder::check_place(request.folder);
  const Rehearsal rehearsal = rehearse(runs, request.limits.on_cpu);
  JobLimits limits = request.limits;
  limits.runs = std::ssize(runs);
  limits.bytes_per_run = limits.on_cpu ? rehearsal.cpu_bytes : rehearsal.gpu_bytes;
  const JobPlan plan = plan_jobs(limits);
  std::vector<SweepFolder::NewRun> made;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Settings& settings = *runs[i].settings;
    made.push_back(
        {runs[i].name, all[i], settings.text(), request.about(*settings.train(), plan.threads)});
  }
  SweepFolder::create(request.folder,
                      {.config = request.config_name,
                       .grid = grid.words,
                       .overrides = grid.overrides,
                       .measure = rehearsal.measure,
                       .shown = rehearsal.shown,
                       .jobs = plan.jobs,
                       .threads = plan.threads,
                       .device = request.device,
                       .command = request.command,
                       .version = request.version},
                      made);
  return {.is_new = true, .bytes_per_run = limits.bytes_per_run};
}

}  // namespace perceiver
