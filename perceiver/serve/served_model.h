// A model that is served: what it is called, and which routes it answers.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "perceiver/zoo/model.h"

namespace perceiver {

struct ServedModel {
  std::string name;            // by which requests know it
  std::filesystem::path path;  // where it lies: no client is told
  Model model = {};            // without a task until it is loaded
  std::string reads = {};      // "text", "picture", "frames", "clip", "arrays"; empty: no files
  std::vector<std::string> routes = {};  // "/fill" …

  bool answers(std::string_view route) const;
};

// Models by what -m takes, found but not loaded; none: those that come with the program. Fails for
// one that is not there, and for two of one name.
std::vector<ServedModel> models_to_serve(std::span<const std::string> arguments);

// Reads the weights, and from then on knows what it reads and answers.
void load(ServedModel& served, at::Device device, at::ScalarType dtype);

// {id, object, created, owned_by, origin, task, reads, routes}, and the labels where they are
// wanted.
nlohmann::ordered_json to_json(const ServedModel& served, bool labels);

}  // namespace perceiver
