#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.h"
#include "cli/eval_report.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/session.h"
#include "perceiver/core/output_place.h"
#include "perceiver/core/processors.h"
#include "perceiver/train/evaluate.h"
#include "perceiver/train/measured_batches.h"
#include "perceiver/train/trainer.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/labels.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct EvalArgs {
  std::string model, device = "auto", output;
  std::vector<std::string> overrides, data;
  int64_t threads = 0;
  std::optional<int64_t> seed;
  bool json = false, quiet = false;
  RankArgs ranks;
};

// A model of a run is measured as the run's config says; another as its task's defaults do.
std::unique_ptr<Settings> experiment_of(const fs::path& path, const Model& model,
                                        const std::vector<std::string>& overrides) {
  if (path.extension() == ".toml") return read_settings(read_file(path), overrides);
  const fs::path run = fs::canonical(path).parent_path();
  const bool is_run = fs::exists(run / "config.toml") && fs::exists(run / "metrics.jsonl");
  if (is_run) return read_settings(read_file(run / "config.toml"), overrides);
  return model.settings->with(overrides);
}

// This process's share of the work; null: all of it.
void eval(const EvalArgs& args, Ranks* ranks) {
  const bool is_first = ranks == nullptr || ranks->is_first();
  if (!args.output.empty()) check_writable(args.output);
  use_threads(args.threads);
  const fs::path path = find_model(args.model);
  const at::Device device = device_argument(args.device);
  Model model = load_model(path);
  check_not_read(args.output, args.data, model);
  training_of(model, "evaluated");
  std::vector<std::string> overrides = args.overrides;
  if (!args.data.empty()) overrides.push_back(paths_override("data.held_out", args.data));
  const fs::path pieces = tokenizer_file(model);
  if (!pieces.empty()) overrides.push_back(fmt::format("data.tokenizer='{}'", pieces.string()));

  // The same model, with data and measures around it.
  const ConstructScope scope(Construct::kEmpty);
  const std::unique_ptr<Task> task = experiment_of(path, model, overrides)->make();
  Training& training = *task->training();
  take_weights(task->model(), model.task->model(), {}, model.source);
  task->model().to(device);
  if (are_names(model.labels)) training.match_classes(model.labels);
  const std::unique_ptr<Dataset> dataset = training.dataset(Split::kEval);
  if (!dataset) fail("there are no held-out examples; name files or folders with --data");
  const std::string where =
      ranks ? fmt::format("{}, {} ranks", device.str(), ranks->size()) : device.str();
  if (!args.quiet) fmt::print(stderr, "{}\n", describe(model, where, "float32"));

  Progress::show(!args.quiet);
  Progress progress("measuring", 1.0);
  double before = 0.0;
  MeasuredBatches batches;
  EvaluateOptions options{.device = device,
                          .seed = static_cast<uint64_t>(args.seed.value_or(training.config().seed)),
                          .progress =
                              [&](int64_t done, int64_t all) {
                                const double share =
                                    static_cast<double>(done) / static_cast<double>(all);
                                progress.add(share - std::exchange(before, share));
                              },
                          .ranks = ranks};
  if (!args.output.empty()) {
    options.measured = [&](const Example& batch, const TensorMap& state) {
      batches.add(batch, state);
    };
  }
  const Evaluation result = evaluate(*task, *dataset, options);
  progress.clear();
  if (!is_first) return;
  if (!args.output.empty()) batches.write(args.output);
  fmt::print("{}", args.json ? eval_json(result, path, args.output)
                             : eval_table(result, training, args.output));
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto args = std::make_shared<EvalArgs>();
  CLI::App* command = add_command(app, "eval", "Measure a model on held-out data",
                                  "  perceiver eval runs/mini --data texts/held_out.txt\n"
                                  "  perceiver eval deepmind/language-perceiver --data texts/ "
                                  "eval.examples=100 --json\n"
                                  "  perceiver eval language-mini --data texts/ eval.batch=1 -o "
                                  "measured.safetensors\n"
                                  "  perceiver eval language-mini --data texts/ --ranks 2");
  command
      ->add_option("model", args->model,
                   "The model: a run, a name, a folder, a checkpoint, or a hub id")
      ->required();
  command->add_option("overrides", args->overrides,
                      "Settings of [data] and [eval], such as eval.examples=100");
  command
      ->add_option("--data", args->data,
                   "A file or folder to measure on (data.held_out); may be repeated")
      ->allow_extra_args(false);
  command->add_option("-o,--output", args->output,
                      "Where to write the examples as the model gets them, and what was measured "
                      "of each batch (safetensors)");
  add_device_option(*command, args->device);
  add_threads_option(*command, args->threads);
  command->add_option(
      "--seed", args->seed,
      "The number that random choices in the examples follow from; default: the run's "
      "train.seed");
  command->add_flag("--json", args->json, "Print one JSON document");
  add_quiet_option(*command, args->quiet);
  add_rank_options(*command, args->ranks);
  command->callback([args] {
    share_verb(args->ranks, {args->model}, {args->device, args->threads, args->quiet},
               [&](Ranks* ranks) { eval(*args, ranks); });
  });
}

}  // namespace perceiver
