// Where the weights of a model's folder or file come from.
#pragma once

#include <filesystem>

#include "perceiver/core/file.h"
#include "perceiver/tasks/origin.h"

namespace perceiver {

// Of what load_model() takes: a config has random weights, a haiku checkpoint DeepMind's; a folder
// says it in its config.json, or lies where only one kind of model does.
Origin origin_of(const std::filesystem::path& model);

// Of the models in the folder of a run.
Origin origin_of_run(const std::filesystem::path& run);

}  // namespace perceiver
