#include "perceiver/train/sweep.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/run_record.h"
#include "cli/session.h"
#include "cli/sweep_options.h"
#include "cli/sweep_report.h"
#include "cli/train_display.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/core/memory.h"
#include "perceiver/core/processors.h"
#include "perceiver/zoo/find.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// All there are, where none is named by its number.
std::vector<at::Device> devices_of(const std::string& value) {
  const at::Device device = device_argument(value);
  if (device.is_cpu() || value.starts_with("cuda:")) return {device};
  std::vector<at::Device> all;
  for (c10::DeviceIndex i = 0; i < at::accelerator::deviceCount(); ++i) {
    all.emplace_back(at::kCUDA, i);
  }
  return all;
}

struct Begun {
  fs::path folder;
  std::string room = "";  // why so many runs go at once; empty: nobody has asked
};

// The sweep that this command begins, or began before.
Begun begin(const GridArgs& args) {
  const std::vector<at::Device> devices = devices_of(args.train.device);
  SweepRequest request{
      .config_name = args.train.config,
      .config = read_file(find_config(args.train.config)),
      .overrides = flags_of(args),
      .words = args.train.overrides,
      .folder = args.train.output,
      .device = args.train.device,
      .command = own_command(),
      .version = PERCEIVER_VERSION,
      .about = [&](const TrainConfig& config,
                   int64_t threads) { return run_record(config, devices[0], threads); },
      .limits = {
          .threads = at::get_num_threads(), .wanted = args.jobs, .on_cpu = devices[0].is_cpu()}};
  if (request.folder.empty()) request.folder = default_run_folder(args.train.config);
  if (args.jobs == 0) {  // else nothing is held on a GPU to ask it
    for (const at::Device device : devices) {
      request.limits.free_bytes.push_back(free_memory(device));
    }
  }
  const BegunSweep begun = begin_sweep(request);
  if (!begun.is_new || args.jobs > 0) return {request.folder};
  const int64_t least = *std::ranges::min_element(request.limits.free_bytes);
  return {request.folder,
          fmt::format(" (a run takes up to about {}, {} are free{})", bytes(begun.bytes_per_run),
                      bytes(least), devices.size() > 1 ? " on each GPU" : "")};
}

// As the sweep was begun, unless the user says otherwise now.
SweepOptions options_of(const GridArgs& args, const SweepFolder& folder) {
  const SweepRecord& record = folder.record();
  SweepOptions options{.jobs = record.jobs, .threads = record.threads};
  if (args.jobs > 0) options.jobs = std::min<int64_t>(args.jobs, std::ssize(folder.runs()));
  if (args.jobs > 0 || args.train.threads > 0) {
    options.threads = std::max<int64_t>(1, at::get_num_threads() / options.jobs);
  }
  options.loader_threads = std::max<int64_t>(1, loader_threads(args.train) / options.jobs);
  options.devices.clear();
  const std::string& now = args.train.device;
  for (const at::Device device : devices_of(now == "auto" ? record.device : now)) {
    options.devices.push_back(device.str());
  }
  return options;
}

void sweep(const GridArgs& args) {
  check_arguments(args);
  use_threads(args.train.threads);
  TrainDisplay display(args.train.quiet);
  const Begun begun = args.train.resume.empty() ? begin(args) : Begun{args.train.resume};
  SweepFolder folder(begun.folder);
  SweepOptions options = options_of(args, folder);
  const auto with_state = [&](RunState state) {
    return std::ranges::count(folder.runs(), state, &SweptRun::state);
  };
  const int64_t done = with_state(RunState::kFinished), all = std::ssize(folder.runs());
  const std::string how = at_once(options.jobs, options.threads) + begun.room;
  display.say(fmt::format("{}: {} runs{}{}", folder.path().string(), all,
                          done > 0 ? fmt::format(", {} finished", done) : "",
                          done < all ? "; " + how : ""));
  const StopOnInterrupt interrupt;
  options.stop = [&] { return interrupt.signal(); };
  options.started = [&](const SweptRun& run) { display.say(run.name + ": started"); };
  options.ended = [&](const SweptRun& run, const RestOfSweep& rest) {
    display.say(ended_line(run, folder.record(), rest));
  };
  if (const int signal = run_all(folder, options)) {
    display.say(
        fmt::format("stopped, {} of {} runs finished; go on with 'perceiver sweep --resume {}'",
                    with_state(RunState::kFinished), all, folder.path().string()));
    std::exit(128 + signal);
  }
  if (folder.best() == nullptr) display.say("nothing was measured, so that no run is the best");
  if (args.json) {
    fmt::print("{}", folder.results());
  } else {
    const fs::path shown = folder.best() != nullptr ? folder.path() / "best" : folder.path();
    fmt::print("{}{}\n", results_table(folder), shown.string());
  }
  if (const int64_t failed = with_state(RunState::kFailed)) {
    fail("{} of {} runs failed; 'perceiver sweep --resume {}' tries them again", failed, all,
         folder.path().string());
  }
}

}  // namespace

void add_sweep_command(CLI::App& app) {
  auto args = std::make_shared<GridArgs>();
  CLI::App* command = add_command(
      app, "sweep", "Train every combination of some settings, and find the best",
      "  perceiver sweep configs/language_bytes_mini.toml --data texts/ -o runs/sweep "
      "train.learning_rate=1e-3,5e-4 train.seed=0,1\n"
      "  perceiver sweep --resume runs/sweep\n"
      "  perceiver sweep configs/glue_single.toml --data GLUE/ --from deepmind/language-perceiver "
      "-o runs/mnli train.batch=16,32,64 train.learning_rate=1e-4,5e-5,2e-5,1e-5");
  add_sweep_options(*command, *args);
  command->callback([args] { sweep(*args); });
}

}  // namespace perceiver
