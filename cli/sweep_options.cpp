#include "cli/sweep_options.h"

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/commands.h"
#include "perceiver/core/error.h"

namespace perceiver {

void add_sweep_options(CLI::App& command, GridArgs& args) {
  TrainArgs& train = args.train;
  command.add_option(
      "config", train.config,
      "The config: a file, or the name of a shipped one, as 'perceiver train' takes");
  command
      .add_option("settings", train.overrides,
                  "Settings that replace the config's. Commas separate alternatives, of which "
                  "every combination is trained: train.batch=16,32. Settings that change together "
                  "are tables: 'train={batch=8,steps=90},{batch=16}'")
      ->option_text("key=a,b...");
  command.add_option("-o,--output", train.output,
                     "Folder to keep the runs in; default: runs/, the config's name and the time. "
                     "The same command again goes on with what is there");
  command.add_option("--resume", train.resume, "Go on with the sweep in this folder");
  command
      .add_option("--jobs", args.jobs,
                  "Runs at once; default: as many as memory and cores have room for")
      ->check(whole_number(1, 1024));
  add_run_options(command, train);
  command
      .add_option("--threads", train.threads,
                  "Number of CPU threads, of all runs at once together; default: one for each core "
                  "the process may use")
      ->check(whole_number(1, 1024));
  command
      .add_option("--seed", args.seed,
                  "The number that all random choices follow from (train.seed)")
      ->check(whole_number(0));
  command.add_flag("--json", args.json, "Print the results as one JSON document");
  add_quiet_option(command, train.quiet);
}

std::vector<std::string> flags_of(const GridArgs& args) {
  TrainArgs flags = args.train;
  flags.overrides.clear();
  std::vector<std::string> overrides = overrides_of(flags);
  if (args.seed) overrides.push_back(fmt::format("train.seed={}", *args.seed));
  return overrides;
}

void check_arguments(const GridArgs& args) {
  const auto& [config, output, resume] =
      std::tie(args.train.config, args.train.output, args.train.resume);
  if (resume.empty() && (config.empty() || config.find('=') != config.npos)) {
    fail(
        "sweep needs a config and settings with alternatives, or a sweep to go on with: --resume "
        "FOLDER; see 'perceiver sweep -h'");
  }
  if (resume.empty()) return;
  const bool has_settings = !args.train.overrides.empty() || !flags_of(args).empty();
  if (!config.empty() || !output.empty() || has_settings) {
    fail("sweep: got --resume {} and settings, expected one of them: a sweep has its own", resume);
  }
}

}  // namespace perceiver
