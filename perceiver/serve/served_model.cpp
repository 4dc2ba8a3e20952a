#include "perceiver/serve/served_model.h"

#include <algorithm>
#include <map>

#include "perceiver/core/config.h"
#include "perceiver/zoo/find.h"
#include "perceiver/zoo/fingerprint.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct Abilities {
  std::string reads;
  std::vector<std::string> routes;
};

// What models of a task do for strangers. Those of arrays would take names of files on this
// machine, so the Open Inference Protocol alone has them.
Abilities abilities_of(const std::string& task) {
  const std::vector<std::string> latents = {"/encode", "/latents", "/query", "/attend"};
  const auto with = [&](std::vector<std::string> routes) {
    routes.insert(routes.end(), latents.begin(), latents.end());
    return routes;
  };
  static const std::map<std::string, Abilities> known = {
      {"language", {"text", with({"/fill", "/v1/embeddings"})}},
      {"text_classifier", {"text", with({"/classify", "/v1/embeddings"})}},
      {"glue", {"text", with({"/classify", "/v1/embeddings"})}},
      {"glue_bert", {"text", {"/classify"}}},
      {"imagenet", {"picture", with({"/classify"})}},
      {"audioset", {"clip", with({"/classify"})}},
      {"multimodal", {"clip", with({"/autoencode", "/classify"})}},
      {"optical_flow", {"frames", with({"/flow"})}},
      {"arrays", {"arrays", {}}}};
  const auto found = known.find(task);
  return found == known.end() ? Abilities{} : found->second;
}

// A path says more of this machine than strangers need to know.
std::string served_name(const std::string& argument) {
  std::error_code none;
  if (!fs::exists(argument, none)) return argument;
  fs::path path = fs::path(argument).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.extension() == ".toml" ? path.stem().string() : path.filename().string();
}

}  // namespace

bool ServedModel::answers(std::string_view route) const {
  return std::ranges::find(routes, route) != routes.end();
}

std::vector<ServedModel> models_to_serve(std::span<const std::string> arguments) {
  std::vector<std::string> names(arguments.begin(), arguments.end());
  if (names.empty()) names = model_names({.shipped = model_places().shipped});
  if (names.empty()) fail("no model comes with this program; name one with -m");
  std::vector<ServedModel> models;
  for (const std::string& argument : names) {
    ServedModel served{.name = served_name(argument), .path = find_model(argument)};
    if (std::ranges::find(models, served.name, &ServedModel::name) != models.end()) {
      fail("-m {}: a model of the name {} is served already; give each a name of its own", argument,
           served.name);
    }
    models.push_back(std::move(served));
  }
  return models;
}

void load(ServedModel& served, at::Device device, at::ScalarType dtype) {
  Model model = load_model(served.path);
  model.fingerprint = fingerprint(model);
  model.task->model().to(device, dtype);
  model.task->model().eval();
  Abilities abilities = abilities_of(task_name(model));
  served.reads = std::move(abilities.reads);
  served.routes = std::move(abilities.routes);
  served.model = std::move(model);
}

nlohmann::ordered_json to_json(const ServedModel& served, bool labels) {
  nlohmann::ordered_json json = {{"id", served.name},
                                 {"object", "model"},
                                 {"created", 0},
                                 {"owned_by", "perceiver"},
                                 {"origin", to_word(served.model.origin.weights)},
                                 {"task", task_name(served.model)},
                                 {"reads", served.reads},
                                 {"routes", served.routes}};
  if (labels) json["labels"] = served.model.labels;
  return json;
}

}  // namespace perceiver
