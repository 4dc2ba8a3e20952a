// Which models and configs there are, by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/zoo/find.h"

namespace perceiver {

struct CatalogueEntry {
  std::string name;  // as -m and `train` take it
  std::string task;
  int64_t parameters = 0;
  std::string about = {};  // a sentence of its card, or of the comment that begins the config
  std::string score = {};  // of a model: what its card has in the row "score"
  int64_t bytes = 0;       // of the files in the model's folder
  std::filesystem::path path = {};  // of the folder, or of the config
};

// The models of all places that can be read, in the order of their names place by place.
std::vector<CatalogueEntry> models_in(const ModelPlaces& places);

// The configs of a folder in the order of their names.
std::vector<CatalogueEntry> configs_in(const std::filesystem::path& folder);

// Released models of which none of the places has the weights.
std::vector<std::string> released_models_not_in(const ModelPlaces& places);

}  // namespace perceiver
