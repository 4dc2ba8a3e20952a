// The parts of `perceiver demo`: a domain each, with its shipped model on the shipped samples.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "perceiver/tasks/model.h"

namespace perceiver {

// What a domain shows.
struct DemoPart {
  std::string text;                            // for the terminal
  nlohmann::ordered_json json;                 // the same for programs
  std::vector<std::filesystem::path> written;  // pictures and files, inside the output folder
};

// Each writes into `folder`, which is there, and is the domain's own.
DemoPart demo_words(Model& model, const std::filesystem::path& folder);
DemoPart demo_pictures(Model& model, const std::filesystem::path& folder);
DemoPart demo_motion(Model& model, const std::filesystem::path& folder);
DemoPart demo_clips(Model& model, const std::filesystem::path& folder);

}  // namespace perceiver
