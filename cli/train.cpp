#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/chrono.h>
#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/session.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/train/trainer.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

using Say = std::function<void(const std::string& line)>;

struct TrainArgs {
  std::string config, output, resume, from, dtype, device = "auto";
  std::vector<std::string> overrides, data, new_head, freeze;
  bool overfit_batch = false, quiet = false;
  int64_t threads = 0, loader_threads = 0;
};

// Flags are a short way to say what the config says: a run's config.toml is then complete.
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

std::string about(const TrainConfig& config, at::Device device) {
  std::string command = read_file("/proc/self/cmdline").bytes;
  if (!command.empty()) command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  const std::time_t now = std::time(nullptr);
  const nlohmann::ordered_json json = {{"command", command},
                                       {"started", fmt::format("{:%FT%TZ}", fmt::gmtime(now))},
                                       {"perceiver", PERCEIVER_VERSION},
                                       {"libtorch", TORCH_VERSION},
                                       {"seed", config.seed},
                                       {"device", device.str()},
                                       {"threads", at::get_num_threads()}};
  return json.dump(2) + "\n";
}

fs::path default_output(const std::string& config) {
  const std::time_t now = std::time(nullptr);
  return fs::path("runs") /
         fmt::format("{}-{:%Y%m%d-%H%M%S}", fs::path(config).stem().string(), fmt::gmtime(now));
}

Model start(const File& config, const std::vector<std::string>& overrides) {
  Model model{.source = config.name,
              .origin = Reference::kDeepMind,
              .settings = model_settings(config, overrides),
              .task = make_task(config, overrides)};
  model.labels = model.task->labels();
  return model;
}

// The weights a model starts with follow from the seed, which is read before they are drawn.
void seed_from(const File& config, const std::vector<std::string>& overrides) {
  const ConstructScope scope(Construct::kWithoutMemory);
  at::manual_seed(make_task(config, overrides)->train_config().seed);
}

// To the newest checkpoint that is whole, if there is one yet.
void go_on(Trainer& trainer, const fs::path& folder, const Say& say) {
  const std::optional<Checkpoint> checkpoint = find_checkpoint(folder);
  if (!checkpoint) {
    say("no checkpoint yet; starting from the beginning");
    return;
  }
  if (!checkpoint->note.empty()) {
    say(fmt::format("{}; taking {} instead", checkpoint->note, checkpoint->folder.string()));
  }
  trainer.resume(*checkpoint);
  say(fmt::format("going on after step {}", checkpoint->step));
}

void run_to_the_end(Trainer& trainer, RunFolder& run, const Say& say) {
  const int signal = trainer.run(run);
  if (trainer.skipped() > 0) {
    say(fmt::format("{} examples could not be read and were skipped", trainer.skipped()));
  }
  if (signal != 0) {
    say(fmt::format("stopped and saved after step {}; go on with 'perceiver train --resume {}'",
                    trainer.steps_done(), run.path().string()));
    std::exit(128 + signal);
  }
  fmt::print("{}\n", run.path().string());
}

int64_t loader_threads(const TrainArgs& args) {
  if (args.loader_threads > 0) return args.loader_threads;
  return std::clamp<int64_t>(std::thread::hardware_concurrency() / 2, 1, 8);
}

void train(TrainArgs args) {
  const bool resumes = !args.resume.empty();
  if (resumes && args.config.find('=') != args.config.npos) {
    args.overrides.insert(args.overrides.begin(), std::exchange(args.config, ""));
  }
  if (resumes != args.config.empty()) {
    fail("train needs a config, or a run to go on with: --resume RUN; see 'perceiver train -h'");
  }
  if (args.threads > 0) at::set_num_threads(static_cast<int>(args.threads));
  const Say say = [&](const std::string& line) {
    if (!args.quiet) fmt::print(stderr, "{}\n", line);
  };
  const fs::path folder = resumes                ? fs::path(args.resume)
                          : !args.output.empty() ? fs::path(args.output)
                                                 : default_output(args.config);
  const File config = read_file(resumes ? folder / "config.toml" : fs::path(args.config));
  const std::vector<std::string> overrides = overrides_of(args);
  const at::Device device = device_argument(args.device);
  seed_from(config, overrides);
  Model model = start(config, overrides);
  const TrainConfig& settings = model.task->train_config();
  say(describe(model, device.str(), std::string(to_word(settings.dtype))));

  const StopOnInterrupt interrupt;
  Trainer trainer(model, {.device = device,
                          .threads = loader_threads(args),
                          .stop = [&] { return interrupt.signal(); },
                          .say = say});
  if (resumes) go_on(trainer, folder, say);
  if (trainer.steps_done() >= settings.steps) {
    say(fmt::format("all {} steps are done; train.steps=N makes it more", settings.steps));
  }
  if (resumes && !overrides.empty()) write_file(folder / "config.toml", model.task->config());
  RunFolder run = resumes
                      ? RunFolder::resume(folder, trainer.steps_done())
                      : RunFolder::create(folder, model.task->config(), about(settings, device));
  run_to_the_end(trainer, run, say);
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
  command->add_option("config", args->config, "A config, such as one of configs/");
  command->add_option("overrides", args->overrides, "key=value pairs that win over the config's");
  command->add_option("-o,--output", args->output,
                      "Folder of the run; default: runs/, the config's name and the time");
  command->add_option("--resume", args->resume, "Go on with the run in this folder");
  const auto add_list = [&](const char* name, std::vector<std::string>& value, const char* what) {
    command->add_option(name, value, what)->allow_extra_args(false);
  };
  add_list("--data", args->data, "A file or folder to train on (data.train); may be repeated");
  command->add_option("--from", args->from, "A model whose weights to begin with");
  add_list("--new-head", args->new_head, "Parameters that begin anew all the same: 'decoder.*'");
  add_list("--freeze", args->freeze, "Parameters that stay as they are: 'encoder.*'");
  command->add_flag("--overfit-batch", args->overfit_batch, "Train on the first batch alone");
  command->add_option("--dtype", args->dtype, "Of products: float32 or bfloat16 (train.dtype)")
      ->check(CLI::IsMember({"float32", "bfloat16"}));
  command->add_option("--device", args->device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command->add_option("--threads", args->threads, "Of the CPU; default: one a core")
      ->check(CLI::Range(1, 1024));
  command->add_option("--loader-threads", args->loader_threads, "That read and augment")
      ->check(CLI::Range(1, 1024));
  command->add_flag("-q,--quiet", args->quiet, "Say nothing but results and errors");
  command->callback([args] { train(*args); });
}

}  // namespace perceiver
