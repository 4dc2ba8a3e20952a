#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/inspect_report.h"
#include "perceiver/core/file.h"
#include "perceiver/nn/init.h"
#include "perceiver/tasks/arrays/data_report.h"
#include "perceiver/tasks/arrays/report.h"
#include "perceiver/tasks/task.h"
#include "perceiver/zoo/catalogue.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/model.h"
#include "perceiver/zoo/origin.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// The device as it is, or as it is assumed where this machine has none.
Hardware hardware_of(const std::string& device) {
  if (device == "cpu") return at::kCPU;
  if (device != "cuda") return assumed_hardware(device);
  const Hardware here(at::kCUDA);
  return here.gpu.compute_capability > 0 ? here : assumed_hardware("h200");
}

AttendPlace place_of(const InspectArgs& args) {
  const at::ScalarType dtype = dtype_argument(args.dtype);
  const bool trains = args.split == "train";
  return {.device = hardware_of(args.device),
          .dtype = dtype,
          .batch = args.batch,
          .mode = {.gradients = trains, .autocast = trains && dtype != at::kFloat}};
}

// What a config or a model says of itself. A model has its settings beside the weights, which are
// looked at before a model of the settings' sizes is built. Of a released model whose weights are
// not on this machine the sizes are known all the same.
struct Found {
  std::unique_ptr<Settings> settings;
  Origin origin;
  std::optional<WeightsReport> weights = {};
  bool lacks_weights = false;
};

Found find(const InspectArgs& args) {
  const std::vector<std::string> elsewhere = released_models_not_in(model_places());
  if (std::ranges::find(elsewhere, args.config) != elsewhere.end() && !fs::exists(args.config)) {
    Found found{
        .settings = read_settings(read_file(config_of_released(args.config)), args.overrides),
        .origin = {.weights = WeightsFrom::kHuggingFace},
        .lacks_weights = true};
    set_semantics(*found.settings, Reference::kHuggingFace);
    return found;
  }
  const fs::path path =
      args.config.ends_with(".toml") ? find_config(args.config) : find_model(args.config);
  if (path.extension() == ".toml") {
    return {read_settings(read_file(path), args.overrides), origin_of(path)};
  }
  const File settings = settings_file(path);
  WeightsReport weights = report_weights(path, *read_settings(settings));
  return {read_settings(settings, args.overrides), origin_of(path), std::move(weights)};
}

Inspected look_at(const InspectArgs& args) {
  const Found found = find(args);
  const Settings* read = found.settings.get();
  const ConstructScope scope(Construct::kWithoutMemory);
  const std::unique_ptr<Task> task = read->make();
  const ModelSummary summary = task->summary(args.split == "train" ? Split::kTrain : Split::kEval);
  const AttendPlace place = place_of(args);
  Inspected inspected = {summary,       place,        plan_memory(summary, place, args.slice),
                         found.weights, found.origin, semantics_text(*read)};
  inspected.lacks_weights = found.lacks_weights;
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
      "  perceiver inspect deepmind/optical-flow-perceiver --device cuda --dtype bfloat16\n"
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
  const std::vector<std::string> assumable = assumable_hardware();
  std::vector<std::string_view> devices = {"cpu", "cuda"};
  devices.insert(devices.end(), assumable.begin(), assumable.end());
  command
      ->add_option("--device", args->device,
                   "Where the model would run: this machine's CPU or GPU (where there is none, an "
                   "H200 is assumed), or a CPU or a GPU that is assumed, by its instructions, "
                   "architecture or name")
      ->capture_default_str()
      ->check(one_of(devices));
  command
      ->add_option("--split", args->split, "Count the queries of a training step or of evaluation")
      ->capture_default_str()
      ->check(one_of({"train", "eval"}));
  command->add_flag("--json", args->json, "Print one JSON document");
  command->callback([args] { inspect(*args); });
}

}  // namespace perceiver
