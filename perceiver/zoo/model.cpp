#include "perceiver/zoo/model.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <set>

#include "perceiver/nn/init.h"
#include "perceiver/weights/folder.h"
#include "perceiver/weights/haiku.h"
#include "perceiver/weights/sharded.h"
#include "perceiver/zoo/deepmind.h"
#include "perceiver/zoo/hugging_face.h"
#include "perceiver/zoo/labels.h"
#include "perceiver/zoo/names.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// Every tensor of a module that a checkpoint holds.
TensorMap tensors_of(torch::nn::Module& module) {
  TensorMap tensors;
  for (const auto& item : module.named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) tensors[item.key()] = item.value();
  return tensors;
}

using NameOf = std::function<std::optional<ForeignName>(const std::string& ours)>;

// The module's tensors, each with what the file has for it: all of the file, for all of the module.
std::vector<std::pair<Tensor, Tensor>> match(torch::nn::Module& module, const TensorMap& weights,
                                             const NameOf& name_of, const std::string& source) {
  std::vector<std::pair<Tensor, Tensor>> pairs;
  std::set<std::string> used;
  for (auto& [ours, tensor] : tensors_of(module)) {
    const std::optional<ForeignName> foreign = name_of(ours);
    if (!foreign) fail("{}: the format has no place for '{}'", source, ours);
    const auto found = weights.find(foreign->name);
    if (found == weights.end()) {
      if (!foreign->optional) fail("{}: tensor '{}' is missing", source, foreign->name);
      pairs.emplace_back(tensor, at::zeros({}));
      continue;
    }
    const Tensor theirs = from_layout(found->second, foreign->layout);
    if (theirs.sizes() != tensor.sizes()) {
      fail("{}: tensor '{}' has shape {}, expected {}", source, foreign->name,
           to_string(found->second.sizes()), to_string(to_layout(tensor, foreign->layout).sizes()));
    }
    pairs.emplace_back(tensor, theirs);
    used.insert(foreign->name);
  }
  for (const auto& [name, tensor] : weights) {
    if (!used.contains(name)) fail("{}: tensor '{}' is not one of this model's", source, name);
  }
  return pairs;
}

// The task with the weights in it. Settings are believed only as far as the weights bear them out:
// before anything is allocated, the model is built without memory and compared.
std::unique_ptr<Task> filled_task(const File& settings, const TensorMap& weights,
                                  const NameOf& name_of, const std::string& source) {
  const int64_t layers = with_settings(settings, {}, [](const auto& s) -> int64_t {
    if constexpr (requires { s.model.encoder; }) return s.model.encoder.self_attends_per_block;
    if constexpr (requires { s.model.transformer; }) return s.model.transformer.num_layers;
    return 0;
  });
  if (layers > static_cast<int64_t>(weights.size())) {
    fail("{}: {} self-attends a block, more than the file has tensors ({})", settings.name, layers,
         weights.size());
  }
  {
    const ConstructScope scope(Construct::kWithoutMemory);
    match(make_task(settings)->model(), weights, name_of, source);
  }
  const ConstructScope scope(Construct::kEmpty);
  std::unique_ptr<Task> task = make_task(settings);
  at::NoGradGuard no_grad;
  for (auto& [ours, theirs] : match(task->model(), weights, name_of, source)) ours.copy_(theirs);
  return task;
}

bool deepmind_kernel(const File& settings) {
  return with_settings(settings, {}, [](const auto& s) {
    if constexpr (requires { s.model.semantics; }) {
      return s.model.semantics.conv_padding == ConvPadding::kSame;
    }
    return true;
  });
}

// One map of names, "module:parameter"; haiku's own bookkeeping beside the averages stays out.
TensorMap flattened(const HaikuCheckpoint& checkpoint) {
  TensorMap flat;
  for (const auto& [module, parameters] : checkpoint.params) {
    for (const auto& [name, tensor] : parameters) flat[fmt::format("{}:{}", module, name)] = tensor;
  }
  for (const auto& [module, averages] : checkpoint.state) {
    for (const auto& [name, tensor] : averages) {
      const bool counter = name == "counter" && module.ends_with("mean_ema");
      if (name == "average" || counter) flat[fmt::format("{}:{}", module, name)] = tensor;
    }
  }
  return flat;
}

// A checkpoint of DeepMind's, or the folder it lies in; empty for other folders.
fs::path haiku_file(const fs::path& path) {
  if (!fs::is_directory(path)) return path;
  const fs::path inside = path / "checkpoint.pystate";
  return fs::exists(inside) && !fs::exists(path / "model.safetensors") ? inside : fs::path();
}

File haiku_settings(const HaikuCheckpoint& checkpoint, const fs::path& path) {
  std::optional<File> config;
  const fs::path beside = path.parent_path() / "config.json";
  if (fs::exists(beside)) config = read_file(beside);
  return {path.string(), settings_of_haiku(checkpoint, path.string(), config)};
}

File with_semantics(const File& settings, std::optional<Reference> semantics) {
  if (!semantics) return model_settings(settings);
  return model_settings(settings, semantics_overrides(settings, *semantics));
}

Model load_haiku(const fs::path& path, std::optional<Reference> semantics) {
  const HaikuCheckpoint checkpoint = read_haiku(path);
  const File settings = with_semantics(haiku_settings(checkpoint, path), semantics);
  const std::string task = read_config_key(settings, "task");
  const bool kernel = deepmind_kernel(settings);
  const auto name_of = [&](const std::string& ours) { return haiku_name(task, ours, kernel); };
  const fs::path folder = path.parent_path();
  return {path.string(),
          Reference::kDeepMind,
          settings,
          filled_task(settings, flattened(checkpoint), name_of, path.string()),
          find_labels(folder, settings),
          folder};
}

Model load_folder(const fs::path& folder, std::optional<Reference> semantics) {
  const File config = read_file(folder / "config.json");
  const File settings = with_semantics({config.name, settings_of_config_json(config)}, semantics);
  const std::string source = find_folder_weights(folder).string();
  const Reference origin = origin_of_config_json(config);
  const std::string task = read_config_key(settings, "task");
  const bool kernel = deepmind_kernel(settings);
  const bool transformers = config_json_of_settings(settings, {.origin = origin}).transformers;
  const auto name_of = [&](const std::string& ours) -> std::optional<ForeignName> {
    if (!transformers) return ForeignName{ours};
    return hugging_face_name(task, ours, kernel);
  };
  return {source,
          origin,
          settings,
          filled_task(settings, read_folder_weights(folder), name_of, source),
          find_labels(folder, settings, labels_of_config_json(config)),
          folder};
}

Model start_model(const fs::path& config, std::optional<Reference> semantics) {
  const File settings = with_semantics(read_file(config), semantics);
  const fs::path folder = config.parent_path();
  return {config.string(),     Reference::kDeepMind,          settings,
          make_task(settings), find_labels(folder, settings), folder};
}

}  // namespace

Model load_model(const fs::path& path, std::optional<Reference> semantics) {
  if (!fs::exists(path)) fail("{}: no such file or folder", path.string());
  const fs::path haiku = haiku_file(path);
  Model model = haiku.empty()                 ? load_folder(path, semantics)
                : path.extension() == ".toml" ? start_model(path, semantics)
                                              : load_haiku(haiku, semantics);
  model.task->model().eval();
  return model;
}

File read_settings(const fs::path& path) {
  if (!fs::exists(path)) fail("{}: no such file or folder", path.string());
  const fs::path haiku = haiku_file(path);
  if (path.extension() == ".toml") return read_file(path);
  if (!haiku.empty()) return haiku_settings(read_haiku(haiku), haiku);
  const File config = read_file(path / "config.json");
  return {config.name, settings_of_config_json(config)};
}

std::string label(const Model& model, int64_t index) {
  const bool named = index < static_cast<int64_t>(model.labels.size());
  return named ? model.labels[index] : fmt::format("class {}", index);
}

void save_model(const Model& model, const fs::path& folder, at::ScalarType dtype) {
  const std::string task = read_config_key(model.settings, "task");
  const std::string dtype_name = dtype == at::kFloat      ? "float32"
                                 : dtype == at::kBFloat16 ? "bfloat16"
                                                          : "float16";
  const ConfigJson config = config_json_of_settings(
      model.settings, {.origin = model.origin, .labels = model.labels, .dtype = dtype_name});
  const bool kernel = deepmind_kernel(model.settings);
  NamedTensors tensors;
  for (const auto& [ours, tensor] : tensors_of(model.task->model())) {
    ForeignName name{ours};
    if (config.transformers) name = hugging_face_name(task, ours, kernel).value();
    const Tensor theirs = to_layout(tensor.detach(), name.layout);
    const bool count = ours.ends_with("num_batches");
    tensors.emplace_back(name.name, theirs.to(count ? at::kLong : dtype).contiguous());
  }
  fs::create_directories(folder);
  write_sharded(folder, tensors, {{"format", "pt"}});
  if (!model.labels.empty() && !config.transformers) {
    write_file(folder / "labels.txt", fmt::format("{}\n", fmt::join(model.labels, "\n")));
  }
  write_file(folder / "config.json", config.text);
}

}  // namespace perceiver
