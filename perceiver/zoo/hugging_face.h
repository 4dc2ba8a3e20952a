// Hugging Face's config.json: what it says as our settings, and back (transformers' Perceiver
// classes). What those classes fix in code is fixed here.
#pragma once

#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {

// config.json -> settings. A folder of ours carries its settings whole in the key "perceiver".
std::string settings_of_config_json(const File& json);

// Whose names and layouts the model's inputs and outputs have.
Reference origin_of_config_json(const File& json);

// Names of the classes, by index; empty where the file names none.
std::vector<std::string> labels_of_config_json(const File& json);

// Settings -> config.json. Where transformers has a class for
// exactly this model, its keys and the class; else our settings under an architecture of ours.
struct ConfigJson {
  std::string text;
  bool transformers;  // a class there has this model: tensors get its names
};
struct ConfigJsonExtras {
  Reference origin;
  std::vector<std::string> labels = {};  // names of the classes; default: LABEL_0 …
  std::string dtype = "float32";
};
ConfigJson config_json_of_settings(const File& settings, const ConfigJsonExtras& extras);

}  // namespace perceiver
