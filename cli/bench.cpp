#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/bench_run.h"
#include "cli/bench_sweep.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "perceiver/bench/workload.h"
#include "perceiver/core/error.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/core/json_text.h"

namespace perceiver {
namespace {

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

std::vector<std::string> models_of(const Asked& asked, at::Device device) {
  if (asked.models.empty()) return quick_workloads(device);
  return asked.models == std::vector<std::string>{"all"} ? all_workloads() : asked.models;
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

void print_names(bool json) {
  if (json) {
    auto names = nlohmann::ordered_json::array();
    for (const NamedWorkload& workload : named_workloads()) {
      names.push_back(
          {{"name", workload.name}, {"config", workload.config}, {"what", workload.what}});
    }
    fmt::print("{}\n", json_text(names, 2));
    return;
  }
  size_t widest = 0;
  for (const NamedWorkload& workload : named_workloads()) {
    widest = std::max(widest, workload.name.size());
  }
  for (const NamedWorkload& workload : named_workloads()) {
    fmt::print("  {:<{}}  {}\n", workload.name, widest, workload.what);
  }
}

void bench(const BenchArgs& args) {
  if (args.list) return print_names(args.json);
  const Asked asked = sorted_out(args);
  check_arguments(args, asked);
  const RunScope run = set_up(args.session);
  const at::Device device = device_argument(args.session.device);
  if (args.sweep.empty()) return run_bench(args, models_of(asked, device), asked.settings);
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
      app, "bench",
      "Measure time and memory of forward passes and training steps, at the paper's sizes",
      "  perceiver bench\n"
      "  perceiver bench flow language --dtype bfloat16 --batch 8\n"
      "  perceiver bench language --train --batch 32 --json\n"
      "  perceiver bench configs/flow_patches.toml model.encoder.num_latents=1024\n"
      "  perceiver bench --sweep outputs -o outputs largest=65536");
  command->add_option("models", args->words,
                      "What to measure: names that --list shows, all of them (all), other models, "
                      "configs; and key=value settings that replace the configs'");
  command->add_option("-m,--model", args->session.model,
                      "One more model: a name, a folder, a hub id, a run");
  command->add_flag("--list", args->list,
                    "List the names of the paper's models, and what they are");
  command->add_flag("--train", args->train, "Measure training steps: forward, backward, optimiser");
  command->add_option("--batch", args->batch, "How many examples at once; default: 1")
      ->check(whole_number(1));
  command
      ->add_option("--repeat", args->repeat,
                   "How many passes to measure; default: as many as --seconds lets")
      ->check(whole_number(1));
  command
      ->add_option("--seconds", args->seconds,
                   "How long to measure each model, three passes at least")
      ->capture_default_str()
      ->check(positive_number());
  command->add_option("--sweep", args->sweep,
                      "Measure a curve over the number of inputs, outputs or latents, beside a "
                      "Transformer's");
  command->add_option("--io", args->io,
                      "File with the inputs, as 'perceiver run' reads it; default: random inputs");
  command->add_option(
      "-o,--output", args->output,
      "With --sweep: writes PATH.csv and PATH.svg; with --io: the file for the outputs");
  command->add_flag(
      "--lockstep", args->lockstep,
      "Make one pass for each line of the standard input, so that two programs can be "
      "measured by turns");
  CLI::Option* json = command->add_flag("--json", args->json, "Print one JSON document");
  CLI::Option* jsonl =
      command->add_flag("--jsonl", args->jsonl, "Print a line of JSON for each model");
  command->add_flag("--csv", args->csv, "Print the table as CSV")->excludes(json)->excludes(jsonl);
  jsonl->excludes(json);
  add_compute_options(*command, args->session);
  command->callback([args] { bench(*args); });
}

}  // namespace perceiver
