// Hugging Face's config.json: what it says as our settings, and back (transformers' Perceiver
// classes). What those classes fix in code is fixed here.
#pragma once

#include <optional>
#include <string>

#include "perceiver/core/file.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {

// config.json -> settings. A folder of ours carries its settings whole in the key "perceiver".
std::string settings_of_config_json(const File& json);

// Whose names and layouts the model's inputs and outputs have.
Reference origin_of_config_json(const File& json);

// Settings -> config.json. `dtype` is the weights', "float32". Where transformers has a class for
// exactly this model, its keys and the class; else our settings under an architecture of ours.
struct ConfigJson {
  std::string text;
  bool transformers;  // a class there has this model: tensors get its names
};
ConfigJson config_json_of_settings(const File& settings, Reference origin,
                                   const std::string& dtype = "float32");

}  // namespace perceiver
