// The parts of `perceiver demo`: a domain each, with its shipped model on the shipped samples.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "perceiver/tasks/classes.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

// What a domain shows.
struct DemoPart {
  std::string text;                            // for the terminal
  nlohmann::ordered_json json;                 // the same for programs
  std::string html;                            // and for the page (demo_html.h)
  std::vector<std::filesystem::path> written;  // pictures and files, inside the output folder
};

constexpr int64_t kDemoTop = 3;  // words and classes that are named

// "frog 83 %"
std::string percent(const RankedClass& one);

// What the query for the class sees; of a model without classes, what groups of latents look at.
std::filesystem::path draw_attention(Model& model, const File& file, bool has_classes,
                                     const std::filesystem::path& path);

// Each writes into `folder`, which is there, and is the domain's own.
DemoPart demo_words(Model& model, const std::filesystem::path& folder);
DemoPart demo_pictures(Model& model, const std::filesystem::path& folder);
DemoPart demo_motion(Model& model, const std::filesystem::path& folder);
DemoPart demo_sounds(Model& model, const std::filesystem::path& folder);
DemoPart demo_entities(Model& model, const std::filesystem::path& folder);
DemoPart demo_clips(Model& model, const std::filesystem::path& folder);

}  // namespace perceiver
