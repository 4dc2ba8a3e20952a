// A model from a file or a folder, whoever wrote it: settings, task and weights.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "perceiver/tasks/task.h"
#include "perceiver/weights/tensor_map.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {

struct Model {
  std::string source;  // where it was read from
  Reference origin;    // whose names and layouts `run` speaks: the file's own
  File settings;       // TOML, complete
  std::unique_ptr<Task> task;
  std::vector<std::string> labels = {};  // names of the classes, where the file has them
};

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
