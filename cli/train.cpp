#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/commands.h"
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
Model start(const File& config, const std::vector<std::string>& overrides) {
  const std::shared_ptr<const Settings> settings =
      read_settings(config, overrides)->with_absolute_paths();
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

void run_to_the_end(Trainer& trainer, RunFolder& run, TrainDisplay& display) {
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
    std::exit(128 + signal);
  }
  fmt::print("{}\n", run.path().string());
}

void train(TrainArgs args) {
  if (args.keys) return print_keys(args);
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
  use_threads(args.threads);
  TrainDisplay display(args.quiet);
  const fs::path folder = resumes                ? fs::path(args.resume)
                          : !args.output.empty() ? fs::path(args.output)
                                                 : default_run_folder(args.config);
  const File config = read_file(resumes ? folder / "config.toml" : find_config(args.config));
  const std::vector<std::string> overrides = overrides_of(args);
  const at::Device device = device_argument(args.device);
  Model model = start(config, overrides);
  const TrainConfig& settings = training_of(model).config();
  if (resumes) model.origin = origin_of_run(folder);
  display.say(describe(model, device.str(), std::string(to_word(settings.dtype))));

  const StopOnInterrupt interrupt;
  Trainer trainer(model, {.device = device,
                          .threads = loader_threads(args),
                          .stop = [&] { return interrupt.signal(); },
                          .look =
                              [&] {
                                display.working();
                                return interrupt.signal();
                              },
                          .stepped = [&](const StepReport& report) { display.stepped(report); },
                          .say = [&](const std::string& line) { display.say(line); }});
  if (resumes) go_on(trainer, folder, display);
  if (trainer.steps_done() >= trainer.steps()) {
    display.say(fmt::format("all {} steps are done; train.{} makes it more", trainer.steps(),
                            settings.steps > 0 ? "steps=N" : "epochs=N"));
  }
  trainer.check_step_fits();
  if (resumes && !overrides.empty()) write_file(folder / "config.toml", model.settings->text());
  RunFolder run = resumes ? RunFolder::resume(folder, trainer.steps_done())
                          : RunFolder::create(folder, model.settings->text(),
                                              run_record(settings, device, at::get_num_threads()));
  run_to_the_end(trainer, run, display);
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto args = std::make_shared<TrainArgs>();
  CLI::App* command = add_command(
      app, "train", "Train a model as a config says",
      "  perceiver train configs/language_bytes_mini.toml --data texts/ -o runs/mini\n"
      "  perceiver train configs/language_bytes_mini.toml --data a.txt train.learning_rate=5e-4\n"
      "  perceiver train --resume runs/mini\n"
      "  perceiver train configs/imagenet_conv.toml --from deepmind/vision-perceiver-conv \\\n"
      "    --new-head 'decoder.output.*' --freeze 'encoder.*' model.num_classes=5");
  add_train_options(*command, *args);
  command->callback([args] { train(*args); });
}

}  // namespace perceiver
