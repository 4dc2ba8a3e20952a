#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/inspect_report.h"
#include "perceiver/core/file.h"
#include "perceiver/nn/init.h"
#include "perceiver/tasks/arrays/data_report.h"
#include "perceiver/tasks/arrays/report.h"
#include "perceiver/tasks/task.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/model.h"
#include "perceiver/zoo/origin.h"

namespace perceiver {
namespace {

Inspected look_at(const InspectArgs& args) {
  // A config is read as it is; a model has its settings beside the weights, which are looked at
  // before a model of the settings' sizes is built.
  std::optional<WeightsReport> weights;
  File settings;
  const std::filesystem::path path =
      args.config.ends_with(".toml") ? find_config(args.config) : find_model(args.config);
  if (path.extension() == ".toml") {
    settings = read_file(path);
  } else {
    settings = settings_file(path);
    weights = report_weights(path, *read_settings(settings));
  }
  const ConstructScope scope(Construct::kWithoutMemory);
  const std::unique_ptr<Settings> read = read_settings(settings, args.overrides);
  const std::unique_ptr<Task> task = read->make();
  const ModelSummary summary = task->summary(args.split == "train" ? Split::kTrain : Split::kEval);
  const int64_t bytes_per_value = static_cast<int64_t>(at::elementSize(dtype_argument(args.dtype)));
  Inspected inspected = {summary, plan_memory(summary, args.batch, bytes_per_value, args.slice),
                         weights, origin_of(path), semantics_text(*read)};
  if (const auto* arrays = read->model<ArraysConfig>()) {
    inspected.arrays = arrays_report(*arrays);
    inspected.arrays_json = arrays_json(*arrays);
  }
  return inspected;
}

void inspect(const InspectArgs& args) {
  if (is_data_file(args.config)) {
    if (args.json || !args.overrides.empty()) {
      fail("{}: holds data, of which inspect prints a table", args.config);
    }
    fmt::print("{}", data_report(args.config));
    return;
  }
  const Inspected inspected = look_at(args);
  args.json ? print_inspected_json(inspected, args) : print_inspected(inspected, args);
  if (inspected.weights && !inspected.weights->problems.empty()) {
    fail("{}: not this model's weights: {}", inspected.weights->source,
         count_problems(inspected.weights->problems));
  }
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto args = std::make_shared<InspectArgs>();
  CLI::App* command = add_command(
      app, "inspect",
      "Show arrays, parameters, FLOPs, memory and attention kernels of a model or config, and "
      "whether the model's weights are all there",
      "  perceiver inspect configs/language_bytes.toml\n"
      "  perceiver inspect configs/flow_patches.toml --batch 6 --dtype bfloat16\n"
      "  perceiver inspect deepmind/language-perceiver\n"
      "  perceiver inspect configs/imagenet_fourier.toml model.encoder.num_latents=256 --json");
  command
      ->add_option("config", args->config,
                   "A config or a model, 'perceiver models' lists them; or a file of arrays "
                   "(.npz, .npy, .csv), to see what it has")
      ->required();
  command->add_option("overrides", args->overrides,
                      "Settings that replace the config's, such as model.encoder.num_latents=256");
  command->add_option("--batch", args->batch, "How many examples at once to count memory for")
      ->capture_default_str()
      ->check(whole_number(1));
  command
      ->add_option("--slice", args->slice, "How many queries decoded at once to count memory for")
      ->capture_default_str()
      ->check(whole_number(1));
  add_dtype_option(*command, args->dtype, "Number format of weights and arrays");
  command->add_option("--device", args->device, "Where the model would run")
      ->capture_default_str()
      ->check(one_of({"cpu", "cuda"}));
  command
      ->add_option("--split", args->split, "Count the queries of a training step or of evaluation")
      ->capture_default_str()
      ->check(one_of({"train", "eval"}));
  command->add_flag("--json", args->json, "Print one JSON document");
  command->callback([args] { inspect(*args); });
}

}  // namespace perceiver
