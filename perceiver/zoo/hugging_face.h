// Hugging Face's config.json: what it says as our settings, and back (transformers' Perceiver
// classes). What those classes fix in code is fixed here.
#pragma once

#include <string>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {

// config.json -> settings as TOML. A folder of ours carries its settings whole in the key
// "perceiver".
std::string settings_of_config_json(const File& json);

// Whose names and layouts the model's inputs and outputs have.
Reference reference_of_config_json(const File& json);

// Names of the classes, by index; empty where the file names none.
std::vector<std::string> labels_of_config_json(const File& json);

// The class of transformers that has exactly this model, whose names its tensors then have; ""
// where there is none.
std::string transformers_class(const Settings& settings);

// Settings -> config.json. Where transformers has a class for the model, its keys and the class;
// else our settings under an architecture of ours.
struct ConfigJsonExtras {
  Reference reference;
  Origin origin = {};
  std::vector<std::string> labels = {};  // names of the classes; default: LABEL_0 …
  std::string dtype = "float32";
};
std::string config_json_of_settings(const Settings& settings, const ConfigJsonExtras& extras);

}  // namespace perceiver
