// Where the weights of a model's folder or file come from, and how a folder of ours says so.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "perceiver/core/file.h"
#include "perceiver/tasks/origin.h"

namespace perceiver {

// Of what load_model() takes: a config has random weights, a haiku checkpoint DeepMind's; a folder
// says it in its config.json, or lies where only one kind of model does.
Origin origin_of(const std::filesystem::path& model);

// Of the models in the folder of a run.
Origin origin_of_run(const std::filesystem::path& run);

// What a folder of ours holds in config.json under "perceiver", "weights".
nlohmann::ordered_json to_json(const Origin& origin);

}  // namespace perceiver
