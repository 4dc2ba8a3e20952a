// A model from a file or a folder, whoever wrote it: settings, task and weights.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "perceiver/tasks/model.h"
#include "perceiver/weights/tensor_map.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {

// Names of classes come from config.json, else from a file labels.txt in the same folder, a name a
// line.
//
// A Hugging Face folder, a folder of ours, a DeepMind checkpoint (.pystate, .pickle), or a config
// (.toml), whose weights are then random. `semantics` computes as the other reference does; by
// default as the file's own.
Model load_model(const std::filesystem::path& path, std::optional<Reference> semantics = {});

// The settings alone, as a config, without the weights where the format allows.
File settings_file(const std::filesystem::path& path);

// A folder that load_model() reads, and transformers too where it has a class for the model.
// `dtype` is that of the weights.
void save_model(const Model& model, const std::filesystem::path& folder, at::ScalarType dtype);

}  // namespace perceiver
