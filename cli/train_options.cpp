#include "cli/train_options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/checks.h"
#include "cli/commands.h"
#include "perceiver/core/processors.h"
#include "perceiver/tasks/key_reference.h"
#include "perceiver/zoo/find.h"

namespace perceiver {

std::vector<std::string> overrides_of(const TrainArgs& args) {
  std::vector<std::string> overrides;
  if (!args.data.empty()) overrides.push_back(paths_override("data.train", args.data));
  if (!args.from.empty()) overrides.push_back(fmt::format("train.from='{}'", args.from));
  if (!args.new_head.empty()) overrides.push_back(paths_override("train.new_head", args.new_head));
  if (!args.freeze.empty()) overrides.push_back(paths_override("train.freeze", args.freeze));
  if (args.overfit_batch) overrides.push_back("train.overfit_batch=true");
  if (!args.dtype.empty()) overrides.push_back("train.dtype=" + args.dtype);
  overrides.insert(overrides.end(), args.overrides.begin(), args.overrides.end());
  return overrides;
}

int64_t loader_threads(const TrainArgs& args, int64_t processes) {
  if (args.loader_threads > 0) return args.loader_threads;
  return std::clamp<int64_t>(available_processors() / processes / 2, 1, 8);
}

void print_keys(const TrainArgs& args) {
  if (args.config.empty()) {
    fmt::print("{}", key_reference());
    return;
  }
  const File config = read_file(find_config(args.config));
  fmt::print("{}", key_table(*read_settings(config, overrides_of(args))));
}

void add_train_options(CLI::App& command, TrainArgs& args) {
  command.add_option(
      "config", args.config,
      "The config: what to train, on what and how: a file, or the name of a shipped one, such as "
      "flow_mini ('perceiver models' lists them); a file of that name in the current folder wins");
  command.add_option("overrides", args.overrides,
                     "Settings that replace the config's, such as train.steps=1000");
  command.add_option("-o,--output", args.output,
                     "Folder to keep the run in; default: runs/, the config's name and the time");
  command.add_flag("--keys", args.keys,
                   "Show every key of the config with its value, default and meaning, and train "
                   "nothing; without a config: the keys of every task, as Markdown");
  command.add_option("--resume", args.resume, "Go on with the run in this folder");
  add_run_options(command, args);
  add_threads_option(command, args.threads);
  command
      .add_option(
          "--loader-threads", args.loader_threads,
          "Number of threads that read and augment examples; default: half the cores, at most 8")
      ->check(whole_number(1, 1024));
  add_rank_options(command, args.ranks);
  add_quiet_option(command, args.quiet);
}

void add_run_options(CLI::App& command, TrainArgs& args) {
  const auto add_list = [&](const char* name, std::vector<std::string>& value, const char* what) {
    command.add_option(name, value, what)->allow_extra_args(false);
  };
  add_list("--data", args.data, "File or folder to train on (data.train); may be repeated");
  command.add_option("--from", args.from,
                     "Begin with the weights of this model, not with random ones");
  add_list("--new-head", args.new_head,
           "With --from: parameters that begin at random all the same, such as 'decoder.*'; may be "
           "repeated");
  add_list("--freeze", args.freeze,
           "Parameters that training leaves as they are, such as 'encoder.*'; may be repeated");
  command.add_flag("--overfit-batch", args.overfit_batch,
                   "Train on the first batch alone, as a test that the model can learn it");
  command.add_option("--dtype", args.dtype, "Number format of the matrix products (train.dtype)")
      ->check(one_of({"float32", "bfloat16"}));
  add_device_option(command, args.device);
}

}  // namespace perceiver
