// A model from a file or a folder, whoever wrote it: settings, task and weights.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "perceiver/core/config.h"
#include "perceiver/core/error.h"
#include "perceiver/tasks/task.h"
#include "perceiver/weights/tensor_map.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {

struct Model {
  std::string source;  // where it was read from
  Reference origin;    // whose names and layouts `run` speaks: the file's own
  File settings;       // TOML, complete
  std::unique_ptr<Task> task;
  std::vector<std::string> labels = {};  // names of the classes, where they are known
  std::filesystem::path folder = {};     // where what belongs to it lies: labels, tokenizer
};

// The name of a class, or "class 17".
std::string label(const Model& model, int64_t index);

// The model as the class that computes it; fails where it is another, saying that `verb` needs a
// model of `task`.
template <typename Impl>
Impl& model_as(Model& model, std::string_view verb, std::string_view task) {
  if (auto* impl = dynamic_cast<Impl*>(&model.task->model())) return *impl;
  fail("{}: {} needs a model of the task {}, got {}", model.source, verb, task,
       read_config_key(model.settings, "task"));
}

// Names of classes come from config.json, else from a file labels.txt in the same folder, a name a
// line.
//
// A Hugging Face folder, a folder of ours, a DeepMind checkpoint (.pystate, .pickle), or a config
// (.toml), whose weights are then random. `semantics` computes as the other reference does; by
// default as the origin's own.
Model load_model(const std::filesystem::path& path, std::optional<Reference> semantics = {});

// The settings alone, without the weights where the format allows.
File read_settings(const std::filesystem::path& path);

// A folder that load_model() reads, and transformers too where it has a class for the model.
// `dtype` is that of the weights.
void save_model(const Model& model, const std::filesystem::path& folder, at::ScalarType dtype);

}  // namespace perceiver
