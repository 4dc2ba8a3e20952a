#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/ranks.h"
#include "cli/run_record.h"
#include "cli/session.h"
#include "cli/train_display.h"
#include "cli/train_options.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/core/processors.h"
#include "perceiver/train/trainer.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/origin.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// The weights it starts with follow from the seed; the run can be resumed from any folder.
Model start(const std::shared_ptr<const Settings>& settings) {
  if (settings->train() != nullptr) at::manual_seed(settings->train()->seed);
  Model model = new_model(settings);
  const std::string from = settings->train() == nullptr ? "" : settings->train()->from;
  if (!from.empty()) model.origin = {.weights = WeightsFrom::kTrained, .began_as = from};
  return model;
}

// To the newest checkpoint that is whole, if there is one yet.
void go_on(Trainer& trainer, const fs::path& folder, TrainDisplay& display) {
  const std::optional<Checkpoint> checkpoint = find_checkpoint(folder);
  if (!checkpoint) return display.say("no checkpoint yet; starting from the beginning");
  if (!checkpoint->note.empty()) {
    display.say(
        fmt::format("{}; taking {} instead", checkpoint->note, checkpoint->folder.string()));
  }
  trainer.resume(*checkpoint);
  display.say(fmt::format("going on after step {}", checkpoint->step));
}

// -> the signal that has ended it; 0: none.
int run_to_the_end(Trainer& trainer, RunFolder& run, TrainDisplay& display) {
  const int signal = trainer.run(run);
  if (trainer.skipped() > 0) {
    display.say(fmt::format("{} examples could not be read and were skipped", trainer.skipped()));
  }
  if (signal != 0) {
    const std::string done =
        trainer.steps_done() == 0
            ? "stopped in the first step, with nothing to save"
            : fmt::format("stopped and saved after step {}", trainer.steps_done());
    display.say(
        fmt::format("{}; go on with 'perceiver train --resume {}'", done, run.path().string()));
  }
  return signal;
}

void check_usage(TrainArgs& args) {
  const bool resumes = !args.resume.empty();
  if (resumes && args.config.find('=') != args.config.npos) {
    args.overrides.insert(args.overrides.begin(), std::exchange(args.config, ""));
  }
  if (resumes && !args.config.empty()) {
    fail("train: got the config {} and --resume {}, expected one of them: a run has its own config",
         args.config, args.resume);
  }
  if (!resumes && args.config.empty()) {
    fail("train needs a config, or a run to go on with: --resume RUN; see 'perceiver train -h'");
  }
}

// A launcher that starts all ranks anew means the same run.
void go_on_where_restarted(TrainArgs& args, const Place& place) {
  if (!place.may_restart || !args.resume.empty()) return;
  if (args.output.empty()) {
    fail("{} may start this run anew, which must find its folder; name it with -o", place.launcher);
  }
  if (place.attempt == "0" || !fs::exists(fs::path(args.output) / "config.toml")) return;
  args.resume = std::exchange(args.output, "");
  args.config.clear();
}

std::string device_words(at::Device device, const Ranks* ranks) {
  return ranks == nullptr ? device.str() : fmt::format("{}, {} ranks", device.str(), ranks->size());
}

// What there is to do, as every rank understands it.
struct PlannedRun {
  const TrainArgs& args;
  fs::path folder;
  std::shared_ptr<const Settings> settings;
  at::Device device;
  int64_t processes;  // on this machine
};

RunFolder open_run(const PlannedRun& plan, const Trainer& trainer, const Model& model,
                   const Ranks* ranks) {
  if (ranks != nullptr && !ranks->is_first()) return RunFolder::of_another(plan.folder);
  const std::string config = model.settings->text();
  if (plan.args.resume.empty()) {
    return RunFolder::create(plan.folder, config,
                             run_record(*plan.settings->train(), plan.device, at::get_num_threads(),
                                        ranks ? ranks->size() : 1));
  }
  if (!overrides_of(plan.args).empty()) write_file(plan.folder / "config.toml", config);
  return RunFolder::resume(plan.folder, trainer.steps_done());
}

// This process's share of a run, all of it or a rank's. -> the signal that has ended it; 0: none.
int train_as(Ranks* ranks, const PlannedRun& plan) {
  const bool is_first = ranks == nullptr || ranks->is_first();
  const bool resumes = !plan.args.resume.empty();
  TrainDisplay display(plan.args.quiet || !is_first);
  Model model = start(plan.settings);
  const TrainConfig& settings = training_of(model).config();
  if (resumes && is_first) model.origin = origin_of_run(plan.folder);
  display.say(
      describe(model, device_words(plan.device, ranks), std::string(to_word(settings.dtype))));

  const StopOnInterrupt interrupt(/*says=*/is_first && !is_launched_here());
  Trainer trainer(model, {.device = plan.device,
                          .threads = loader_threads(plan.args, plan.processes),
                          .stop = [&] { return interrupt.signal(); },
                          .look =
                              [&] {
                                display.working();
                                return interrupt.signal();
                              },
                          .stepped = [&](const StepReport& report) { display.stepped(report); },
                          .say = [&](const std::string& line) { display.say(line); },
                          .ranks = ranks});
  if (resumes && is_first) go_on(trainer, plan.folder, display);
  if (trainer.steps_done() >= trainer.steps()) {
    display.say(fmt::format("all {} steps are done; train.{} makes it more", trainer.steps(),
                            settings.steps > 0 ? "steps=N" : "epochs=N"));
  }
  trainer.check_step_fits();
  RunFolder run = open_run(plan, trainer, model, ranks);
  const int signal = run_to_the_end(trainer, run, display);
  if (is_first && signal == 0) fmt::print("{}\n", run.path().string());
  return signal;
}

void train(TrainArgs args) {
  if (args.keys) return print_keys(args);
  check_usage(args);
  const std::optional<Place> place = own_place(args.ranks);
  if (place) go_on_where_restarted(args, *place);
  const fs::path folder = !args.resume.empty()   ? fs::path(args.resume)
                          : !args.output.empty() ? fs::path(args.output)
                                                 : default_run_folder(args.config);
  const bool resumes = !args.resume.empty();
  const File config = read_file(resumes ? folder / "config.toml" : find_config(args.config));
  const std::shared_ptr<const Settings> settings =
      read_settings(config, overrides_of(args))->with_absolute_paths();
  const RankDevice device = device_of_rank(args.device, place);
  if (start_ranks(args.ranks)) return;

  use_threads(threads_of_rank(args.threads, place));
  const PlannedRun plan{args, folder, settings, device.device, place ? place->local_size : 1};
  int signal = 0;
  as_rank(args.ranks, place, device, settings->text(),
          [&](Ranks* ranks) { signal = train_as(ranks, plan); });
  if (signal != 0) std::exit(128 + signal);
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto args = std::make_shared<TrainArgs>();
  CLI::App* command = add_command(
      app, "train", "Train a model as a config says",
      "  perceiver train configs/language_bytes_mini.toml --data texts/ -o runs/mini\n"
      "  perceiver train configs/language_bytes_mini.toml --data a.txt train.learning_rate=5e-4\n"
      "  perceiver train --resume runs/mini\n"
      "  perceiver train configs/flow_mini.toml --ranks 2 -o runs/flow\n"
      "  perceiver train configs/imagenet_conv.toml --from deepmind/vision-perceiver-conv \\\n"
      "    --new-head 'decoder.output.*' --freeze 'encoder.*' model.num_classes=5");
  add_train_options(*command, *args);
  command->callback([args] { train(*args); });
}

}  // namespace perceiver
