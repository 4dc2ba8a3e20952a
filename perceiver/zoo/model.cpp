#include "perceiver/zoo/model.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "perceiver/nn/init.h"
#include "perceiver/nn/module_tensors.h"
#include "perceiver/weights/folder.h"
#include "perceiver/weights/haiku.h"
#include "perceiver/weights/sharded.h"
#include "perceiver/zoo/deepmind.h"
#include "perceiver/zoo/hugging_face.h"
#include "perceiver/zoo/labels.h"
#include "perceiver/zoo/names.h"
#include "perceiver/zoo/origin.h"
#include "perceiver/zoo/weights_match.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// The module's tensors, each with what the file has for it: all of the file, for all of the module.
std::vector<std::pair<Tensor, Tensor>> match(const torch::nn::Module& module,
                                             const TensorMap& weights, const NameOf& name_of,
                                             const std::string& source) {
  WeightsMatch match = match_weights(module, weights, name_of);
  if (!match.problems.empty()) fail("{}: {}", source, to_string(match.problems.front()));
  return std::move(match.pairs);
}

// The task with the weights in it. Settings are believed only as far as the weights bear them out:
// before anything is allocated, the model is built without memory and compared.
std::unique_ptr<Task> filled_task(const Settings& settings, const TensorMap& weights,
                                  const NameOf& name_of, const std::string& source) {
  {
    const ConstructScope scope(Construct::kWithoutMemory);
    match(settings.make()->model(), weights, name_of, source);
  }
  const ConstructScope scope(Construct::kEmpty);
  std::unique_ptr<Task> task = settings.make();
  at::NoGradGuard no_grad;
  for (auto& [ours, theirs] : match(task->model(), weights, name_of, source)) ours.copy_(theirs);
  return task;
}

File haiku_settings(const HaikuCheckpoint& checkpoint, const fs::path& path) {
  std::optional<File> config;
  const fs::path beside = path.parent_path() / "config.json";
  // Not exists(): that throws for a link to itself.
  if (fs::exists(fs::symlink_status(beside))) config = read_model_config(beside);
  return {path.string(), settings_of_haiku(checkpoint, path.string(), config)};
}

std::shared_ptr<const Settings> settings_with(const File& config,
                                              std::optional<Reference> semantics) {
  std::shared_ptr<Settings> settings = read_settings(config);
  if (semantics) set_semantics(*settings, *semantics);
  return settings;
}

Model load_haiku(const fs::path& path, std::optional<Reference> semantics) {
  const HaikuCheckpoint checkpoint = read_haiku(path);
  const auto settings = settings_with(haiku_settings(checkpoint, path), semantics);
  const TensorMap weights = haiku_tensors(checkpoint);
  check_counts(*settings, weights);
  const fs::path folder = path.parent_path();
  return {path.string(),
          Reference::kDeepMind,
          settings,
          filled_task(*settings, weights, haiku_names(*settings), path.string()),
          find_labels(folder, *settings),
          folder};
}

Model load_folder(const fs::path& folder, std::optional<Reference> semantics) {
  const File config = read_model_config(folder / "config.json");
  const std::shared_ptr<Settings> settings =
      read_settings({config.name, settings_of_config_json(config)});
  const bool kernel_in_file = deepmind_kernel(*settings);
  if (semantics) set_semantics(*settings, *semantics);
  const std::string source = find_folder_weights(folder).string();
  const TensorMap weights = read_folder_weights(folder);
  check_counts(*settings, weights);
  return {source,
          reference_of_config_json(config),
          settings,
          filled_task(*settings, weights, folder_names(*settings, kernel_in_file), source),
          find_labels(folder, *settings, labels_of_config_json(config)),
          folder};
}

void check_there(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) return;
  fail("{}: {}", path.string(), error ? error.message() : "no such file or folder");
}

Model start_model(const fs::path& config, std::optional<Reference> semantics) {
  Model model = new_model(settings_with(read_model_config(config), semantics));
  model.folder = config.parent_path();
  model.labels = find_labels(model.folder, *model.settings);
  return model;
}

}  // namespace

Model load_model(const fs::path& path, std::optional<Reference> semantics) {
  check_there(path);
  const fs::path haiku = haiku_file(path);
  Model model = haiku.empty()                 ? load_folder(path, semantics)
                : path.extension() == ".toml" ? start_model(path, semantics)
                                              : load_haiku(haiku, semantics);
  find_tokenizer(model);
  model.origin = origin_of(path);
  model.task->model().eval();
  return model;
}

File settings_file(const fs::path& path) {
  check_there(path);
  const fs::path haiku = haiku_file(path);
  if (path.extension() == ".toml") return read_model_config(path);
  if (!haiku.empty()) return haiku_settings(read_haiku(haiku), haiku);
  const File config = read_model_config(path / "config.json");
  return {config.name, settings_of_config_json(config)};
}

void save_model(const Model& model, const fs::path& folder, at::ScalarType dtype) {
  const NameOf name_of = folder_names(*model.settings);
  NamedTensors tensors;
  for (const auto& [ours, tensor] : module_tensors(model.task->model())) {
    const ForeignName name = name_of(ours).value();
    const Tensor theirs = to_layout(tensor.detach(), name.layout);
    const bool count = ours.ends_with("num_batches");
    tensors.emplace_back(name.name, theirs.to(count ? at::kLong : dtype).contiguous());
  }
  fs::create_directories(folder);
  write_sharded(folder, tensors, {{"format", "pt"}});
  if (!model.labels.empty() && transformers_class(*model.settings).empty()) {
    write_file(folder / "labels.txt", fmt::format("{}\n", fmt::join(model.labels, "\n")));
  }
  const std::string dtype_name = dtype == at::kFloat      ? "float32"
                                 : dtype == at::kBFloat16 ? "bfloat16"
                                                          : "float16";
  write_file(folder / "config.json",
             config_json_of_settings(*model.settings, {.reference = model.reference,
                                                       .origin = model.origin,
                                                       .labels = model.labels,
                                                       .dtype = dtype_name}));
}

}  // namespace perceiver
