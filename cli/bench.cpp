#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/bench_report.h"
#include "cli/bench_sweep.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "perceiver/bench/workload.h"
#include "perceiver/core/error.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/core/memory.h"
#include "perceiver/nn/layers.h"
#include "perceiver/weights/safetensors.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

struct BenchArgs {
  SessionOptions session;
  std::vector<std::string> words;  // models, and key=value pairs
  std::string io, output, sweep;
  int64_t batch = 0, repeat = 0;  // 0: not given
  double seconds = 5.0;
  bool list = false, train = false, lockstep = false, json = false, jsonl = false, csv = false;
};

struct Asked {
  std::vector<std::string> models, settings;
};

Asked sorted_out(const BenchArgs& args) {
  Asked asked;
  for (const std::string& word : args.words) {
    (word.find('=') == word.npos ? asked.models : asked.settings).push_back(word);
  }
  if (!args.session.model.empty()) asked.models.push_back(args.session.model);
  return asked;
}

// What is measured when nothing is named: what takes seconds.
std::vector<std::string> usual_models(at::Device device) {
  std::vector<std::string> names;
  for (const NamedWorkload& workload : named_workloads()) {
    if (workload.quick_on >= (device.is_cpu() ? 2 : 1)) names.emplace_back(workload.name);
  }
  return names;
}

std::vector<std::string> models_of(const Asked& asked, at::Device device) {
  if (asked.models.empty()) return usual_models(device);
  if (asked.models != std::vector<std::string>{"all"}) return asked.models;
  std::vector<std::string> names;
  for (const NamedWorkload& workload : named_workloads()) names.emplace_back(workload.name);
  return names;
}

void check_arguments(const BenchArgs& args, const Asked& asked) {
  if (!args.sweep.empty()) {
    if (args.train) fail("--sweep measures forward passes; leave out --train");
    if (args.batch > 0) fail("--sweep measures one example at a time; leave out --batch");
    if (!asked.models.empty()) {
      fail("--sweep measures models of its own, got '{}'; key=value pairs set their sizes",
           asked.models.front());
    }
    return;
  }
  if (args.train && args.session.dtype == "float16") {
    fail("--train: nothing is trained in float16; take bfloat16 or float32");
  }
  if (!args.io.empty() && args.train)
    fail("--io holds inputs of a forward pass; leave out --train");
  if (!args.io.empty() && args.batch > 0) fail("--io has a batch of its own; leave out --batch");
  const size_t models = asked.models.size();
  if (!args.io.empty() && models != 1) fail("--io belongs to one model, got {}", models);
  if (args.lockstep && models != 1) fail("--lockstep measures one model, got {}", models);
  if (!args.output.empty() && args.io.empty()) fail("-o is for --sweep and for --io");
}

TensorMap read_inputs(const std::string& path) {
  constexpr std::string_view kInput = "input.";
  TensorMap inputs;
  for (const auto& [name, tensor] : read_safetensors(path).tensors) {
    if (name.starts_with(kInput)) inputs[name.substr(kInput.size())] = tensor;
  }
  if (inputs.empty()) fail("{}: has no tensor named 'input.…'", path);
  return inputs;
}

void write_outputs(const std::string& path, const TensorMap& outputs) {
  NamedTensors named;
  for (const auto& [name, tensor] : outputs) {
    named.emplace_back("output." + name, tensor.cpu().contiguous());
  }
  write_safetensors(path, named);
}

// A pass for each line of the standard input: whoever writes them lets programs take turns.
GoOn lockstep() {
  return [](const std::vector<double>& so_far) {
    const Json line = so_far.empty() ? Json{{"ready", true}} : Json{{"seconds", so_far.back()}};
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
    std::string ignored;
    return static_cast<bool>(std::getline(std::cin, ignored));
  };
}

// Threads that wait for each other wait for other programs too.
void warn_of_load() {
  double load = 0.0;
  if (getloadavg(&load, 1) == 1 && load > 0.5 * at::get_num_threads()) {
    note(fmt::format("the machine is busy (load {:.1f}): times will be too long", load));
  }
}

class Bench {
 public:
  Bench(const BenchArgs& args, const std::vector<std::string>& settings)
      : args_(args), device_(device_argument(args.session.device)) {
    options_ = {.device = device_,
                .dtype = session_dtype(args.session.dtype, device_),
                .batch = std::max<int64_t>(1, args.batch),
                .train = args.train,
                .overrides = settings};
    if (!args.io.empty()) options_.inputs = read_inputs(args.io);
  }

  void run(const std::vector<std::string>& names) {
    for (const std::string& name : names) check_workload(name, options_);
    warn_of_load();
    place_ = bench_place(args_.train ? "train" : "forward", device_, options_.dtype);
    for (const std::string& name : names) {
      if (interrupt_.signal() == 0) measure_one(name);
    }
    print();
    if (interrupt_.signal() != 0) std::exit(128 + interrupt_.signal());
  }

 private:
  void measure_one(const std::string& name) {
    Workload workload(name, options_);
    const std::string attention = kernels(workload);
    note(fmt::format("{}, {}, attention: {}",
                     describe(workload.model(), device_.str(), place_.dtype), threads_word(),
                     attention));
    reset_peak_memory(device_);
    Progress progress(name, args_.repeat > 0 ? static_cast<double>(args_.repeat) : args_.seconds);
    const GoOn enough_of_it = args_.lockstep ? lockstep() : enough(args_.repeat, args_.seconds);
    const std::vector<double> seconds =
        measure([&] { workload.pass(); }, device_,
                [&](const std::vector<double>& so_far) {
                  if (!so_far.empty()) progress.add(args_.repeat > 0 ? 1.0 : so_far.back());
                  return interrupt_.signal() == 0 && enough_of_it(so_far);
                },
                args_.train && !args_.lockstep ? Passes::kInARow : Passes::kOneByOne);
    progress.clear();
    if (!args_.output.empty()) write_outputs(args_.output, workload.outputs());
    if (seconds.empty()) return;
    results_.push_back({.name = name,
                        .source = workload.model().source,
                        .attention = attention,
                        .examples_are = workload.examples_are(),
                        .batch = workload.examples(),
                        .parameters = num_parameters(workload.model().task->model()),
                        .flops = workload.flops(),
                        .seconds = seconds,
                        .peak_bytes = peak_memory(device_)});
    if (args_.jsonl) {
      Json line = to_json(place_);
      line.update(to_json(results_.back(), place_));
      fmt::print("{}\n", line.dump());
      std::fflush(stdout);
    }
  }

  std::string kernels(const Workload& workload) const {
    if (args_.session.kernel != "auto") return args_.session.kernel;
    return kernels_of(workload.summary(), {.device = device_,
                                           .dtype = options_.dtype,
                                           .batch = options_.batch,
                                           .needs_grad = args_.train});
  }

  void print() const {
    if (args_.jsonl) return;
    if (args_.csv) {
      fmt::print("{}", bench_csv(results_, place_));
    } else if (args_.json || args_.lockstep) {
      Json document = to_json(place_);
      document["results"] = Json::array();
      for (const BenchResult& r : results_) document["results"].push_back(to_json(r, place_));
      fmt::print("{}\n", document.dump(args_.lockstep ? -1 : 2));
    } else {
      fmt::print("{}", bench_table(results_, place_));
      if (!args_.output.empty()) fmt::print("{}\n", args_.output);
    }
  }

  const BenchArgs& args_;
  at::Device device_;
  WorkloadOptions options_;
  StopOnInterrupt interrupt_;
  BenchPlace place_;
  std::vector<BenchResult> results_;
};

void print_names() {
  size_t widest = 0;
  for (const NamedWorkload& workload : named_workloads()) {
    widest = std::max(widest, workload.name.size());
  }
  for (const NamedWorkload& workload : named_workloads()) {
    fmt::print("  {:<{}}  {}\n", workload.name, widest, workload.what);
  }
}

void bench(const BenchArgs& args) {
  if (args.list) return print_names();
  const Asked asked = sorted_out(args);
  check_arguments(args, asked);
  set_up(args.session);
  if (args.sweep.empty()) {
    Bench bench(args, asked.settings);
    return bench.run(models_of(asked, device_argument(args.session.device)));
  }
  const at::Device device = device_argument(args.session.device);
  const StopOnInterrupt interrupt;
  run_sweep({.axis = args.sweep,
             .output = args.output,
             .settings = asked.settings,
             .device = device,
             .dtype = session_dtype(args.session.dtype, device),
             .json = args.json},
            [&] { return interrupt.signal() != 0; });
  if (interrupt.signal() != 0) std::exit(128 + interrupt.signal());
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto args = std::make_shared<BenchArgs>();
  CLI::App* command = add_command(
      app, "bench", "Time and memory of forward passes and training steps, at the paper's sizes",
      "  perceiver bench\n"
      "  perceiver bench flow language --dtype bfloat16 --batch 8\n"
      "  perceiver bench language --train --batch 32 --json\n"
      "  perceiver bench configs/flow_patches.toml model.encoder.num_latents=1024\n"
      "  perceiver bench --sweep outputs -o outputs largest=65536");
  command->add_option("models", args->words,
                      "Names as --list shows, or all; configs, folders; key=value pairs that win "
                      "over the configs'");
  command->add_option("-m,--model", args->session.model,
                      "One more model: a folder, a hub id, a run");
  command->add_flag("--list", args->list, "What has a name, and what it is");
  command->add_flag("--train", args->train,
                    "Training steps, one right after another: forward, backward, optimiser");
  command->add_option("--batch", args->batch, "Examples at once; default: 1")
      ->check(CLI::PositiveNumber);
  command->add_option("--repeat", args->repeat, "Passes that count; default: as --seconds says")
      ->check(CLI::PositiveNumber);
  command->add_option("--seconds", args->seconds, "Of each model, but three passes at least")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--sweep", args->sweep,
                      "A curve over inputs, outputs or latents, beside a Transformer's");
  command->add_option("--io", args->io, "Inputs from a file as 'perceiver run' reads it");
  command->add_option("-o,--output", args->output,
                      "Of --sweep: NAME of NAME.csv and NAME.svg; of --io: a file for output.*");
  command->add_flag("--lockstep", args->lockstep,
                    "A pass for each line of the standard input, for comparisons");
  CLI::Option* json = command->add_flag("--json", args->json, "One JSON document");
  CLI::Option* jsonl = command->add_flag("--jsonl", args->jsonl, "A line of JSON for each model");
  command->add_flag("--csv", args->csv, "A table for machines")->excludes(json)->excludes(jsonl);
  jsonl->excludes(json);
  add_compute_options(*command, args->session);
  command->callback([args] { bench(*args); });
}

}  // namespace perceiver
