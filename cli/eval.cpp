#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/output_place.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/trainer.h"
#include "perceiver/weights/safetensors.h"
#include "perceiver/zoo/find.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct EvalArgs {
  std::string model, device = "auto", output;
  std::vector<std::string> overrides, data;
  int64_t threads = 0;
  std::optional<int64_t> seed;
  bool json = false, quiet = false;
};

// A model of a run is measured as the run's config says; another as its task's defaults do.
File experiment_of(const fs::path& path, const Model& model) {
  if (path.extension() == ".toml") return read_file(path);
  const fs::path run = fs::canonical(path).parent_path();
  const bool is_run = fs::exists(run / "config.toml") && fs::exists(run / "metrics.jsonl");
  return is_run ? read_file(run / "config.toml") : model.settings;
}

// What was measured, so that another program can be asked the same: the arrays of each batch as the
// model gets them ("3.ids"), and the sum and the weight of each measure ("3.measure.loss").
class MeasuredBatches {
 public:
  void add(const Example& batch, const Measures& measures) {
    for (const auto& [name, array] : batch) {
      arrays_.emplace_back(fmt::format("{}.{}", count_, name), array.cpu());
    }
    for (const auto& [name, m] : measures) {
      arrays_.emplace_back(fmt::format("{}.measure.{}", count_, name),
                           at::tensor({m.sum, m.weight}, at::kDouble));
    }
    ++count_;
  }
  void write(const fs::path& path) const { write_safetensors(path, arrays_); }

 private:
  NamedTensors arrays_;
  int64_t count_ = 0;
};

void print(const Evaluation& result, const fs::path& model, const EvalArgs& args) {
  if (args.json) {
    nlohmann::ordered_json json = {{"model", model.string()}, {"examples", result.examples}};
    for (const auto& [name, value] : result.figures) json[name] = value;
    if (!args.output.empty()) json["output"] = args.output;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("examples {}\n", result.examples);
  for (const auto& [name, value] : result.figures) fmt::print("{} {:.6g}\n", name, value);
  if (!args.output.empty()) fmt::print("{}\n", args.output);
}

void eval(const EvalArgs& args) {
  if (!args.output.empty()) check_writable(args.output);
  if (args.threads > 0) at::set_num_threads(static_cast<int>(args.threads));
  const fs::path path = find_model(args.model);
  const at::Device device = device_argument(args.device);
  Model model = load_model(path);
  std::vector<std::string> overrides = args.overrides;
  if (!args.data.empty()) overrides.push_back(paths_override("data.held_out", args.data));
  const fs::path pieces = model.folder / "spiece.model";
  if (fs::exists(pieces)) overrides.push_back(fmt::format("data.tokenizer='{}'", pieces.string()));

  // The same model, with data and measures around it.
  const ConstructScope scope(Construct::kEmpty);
  const std::unique_ptr<Task> task = make_task(experiment_of(path, model), overrides);
  take_weights(task->model(), model.task->model(), {}, model.source);
  task->model().to(device);
  const std::unique_ptr<Dataset> dataset = task->dataset(Split::kEval);
  if (!dataset) fail("there are no held-out examples; name files or folders with --data");
  if (!args.quiet) fmt::print(stderr, "{}\n", describe(model, device.str(), "float32"));

  Progress::show(!args.quiet);
  Progress progress("measuring", 1.0);
  double before = 0.0;
  MeasuredBatches batches;
  EvaluateOptions options{
      .device = device,
      .seed = static_cast<uint64_t>(args.seed.value_or(task->train_config().seed)),
      .progress = [&](int64_t done, int64_t all) {
        const double share = static_cast<double>(done) / static_cast<double>(all);
        progress.add(share - std::exchange(before, share));
      }};
  if (!args.output.empty()) {
    options.measured = [&](const Example& batch, const Measures& m) { batches.add(batch, m); };
  }
  const Evaluation result = evaluate(*task, *dataset, options);
  progress.clear();
  if (!args.output.empty()) batches.write(args.output);
  print(result, path, args);
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto args = std::make_shared<EvalArgs>();
  CLI::App* command = add_command(app, "eval", "Measure a model on held-out data",
                                  "  perceiver eval runs/mini --data texts/held_out.txt\n"
                                  "  perceiver eval deepmind/language-perceiver --data texts/ "
                                  "eval.examples=100 --json\n"
                                  "  perceiver eval language-mini --data texts/ eval.batch=1 -o "
                                  "measured.safetensors");
  command->add_option("model", args->model, "A run, a folder, a checkpoint, or a hub id")
      ->required();
  command->add_option("overrides", args->overrides, "key=value pairs of [data] and [eval]");
  command
      ->add_option("--data", args->data,
                   "A file or folder to measure on (data.held_out); may be repeated")
      ->allow_extra_args(false);
  command->add_option("-o,--output", args->output,
                      "Where to write the examples as the model gets them, and what was measured "
                      "of each batch (safetensors)");
  command->add_option("--device", args->device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  command->add_option("--threads", args->threads, "Of the CPU; default: one a core")
      ->check(CLI::Range(1, 1024));
  command->add_option("--seed", args->seed,
                      "Of what is random in the examples; default: train.seed of the run");
  command->add_flag("--json", args->json, "One JSON document");
  command->add_flag("-q,--quiet", args->quiet, "Say nothing but results and errors");
  command->callback([args] { eval(*args); });
}

}  // namespace perceiver
