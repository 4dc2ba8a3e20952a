#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/help.h"
#include "perceiver/core/file.h"
#include "perceiver/tasks/json.h"
#include "perceiver/zoo/catalogue.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
using Entries = std::vector<CatalogueEntry>;

struct Place {
  std::string title;  // what the list says of it
  std::string from;   // a word for it in JSON
  Entries models;
};

std::vector<Place> places_with_models(const ModelPlaces& all) {
  const auto where = [](const std::string& what, const std::filesystem::path& folder) {
    return fmt::format("{}, {}", what, folder.string());
  };
  std::vector<Place> places = {
      {where("Models that come with the program", all.shipped), "shipped",
       models_in({.shipped = all.shipped})},
      {where("Models of $PERCEIVER_MODELS", all.models), "PERCEIVER_MODELS",
       models_in({.models = all.models})},
      {where("Models that Hugging Face's programs have downloaded", all.hub_cache), "hub cache",
       models_in({.hub_cache = all.hub_cache})}};
  std::erase_if(places, [](const Place& place) { return place.models.empty(); });
  return places;
}

Json to_json(const CatalogueEntry& entry) {
  return {{"name", entry.name},
          {"task", entry.task},
          {"parameters", entry.parameters},
          {"about", entry.about},
          {"path", entry.path.string()}};
}

Json to_json(const std::vector<Place>& places) {
  Json rows = Json::array();
  for (const Place& place : places) {
    for (const CatalogueEntry& model : place.models) {
      rows.push_back(to_json(model));
      rows.back()["from"] = place.from;
      rows.back()["bytes"] = model.bytes;
      rows.back()["score"] = model.score;
    }
  }
  return rows;
}

// Of a model its score, where its card gives one, else what it is.
std::string lines(const Entries& entries) {
  size_t name_width = 0, task_width = 0;
  for (const CatalogueEntry& entry : entries) {
    name_width = std::max(name_width, entry.name.size());
    task_width = std::max(task_width, entry.task.size());
  }
  std::string text;
  for (const CatalogueEntry& entry : entries) {
    std::string line = fmt::format("  {:<{}}  {:<{}}  {:>6}", entry.name, name_width, entry.task,
                                   task_width, amount(static_cast<double>(entry.parameters)));
    if (entry.bytes > 0) line += fmt::format("  {:>9}", bytes(entry.bytes));
    line += "  " + (entry.score.empty() ? entry.about : entry.score);
    if (line.size() > terminal_width()) line = line.substr(0, terminal_width() - 3) + "...";
    text += line + "\n";
  }
  return text;
}

void print_names(const ModelPlaces& places) {
  for (const std::string& name : model_names(places)) fmt::print("{}\n", name);
  for (const auto& config : sorted_entries(shipped("configs"))) {
    if (config.stem() != "paper") fmt::print("{}\n", config.stem().string());
  }
}

void print_json(const std::vector<Place>& models, const std::vector<std::string>& not_here,
                const Entries& configs) {
  Json document = {{"models", to_json(models)}, {"not_here", not_here}, {"configs", Json::array()}};
  for (const CatalogueEntry& config : configs) document["configs"].push_back(to_json(config));
  fmt::print("{}\n", json_text(document, 2));
}

void models_verb(bool json, bool names) {
  const ModelPlaces places = model_places();
  if (names) return print_names(places);
  const std::vector<Place> models = places_with_models(places);
  const Entries configs = configs_in(shipped("configs"));
  const std::vector<std::string> released = released_models_not_in(places);
  if (json) return print_json(models, released, configs);
  fmt::print("What -m takes, by name: task, parameters, size, score\n");
  for (const Place& place : models) fmt::print("\n{}\n{}", place.title, lines(place.models));
  if (!released.empty()) {
    fmt::print("\nReleased by DeepMind, not on this machine\n  {}\n", fmt::join(released, "\n  "));
    fmt::print("{}",
               wrapped("To have one: " + how_to_get("NAME") + " with -m.", 2, terminal_width()));
  }
  fmt::print("\nConfigs in {}, for train, inspect and bench; with -m their weights are random\n{}",
             shipped("configs").string(), lines(configs));
}

}  // namespace

void add_models_command(CLI::App& app) {
  CLI::App* command = add_command(app, "models", "List the models and configs there are, by name",
                                  "  perceiver models\n"
                                  "  perceiver models --json");
  auto json = std::make_shared<bool>(false), names = std::make_shared<bool>(false);
  CLI::Option* document = command->add_flag("--json", *json, "Print one JSON document");
  command->add_flag("--names", *names, "Print nothing but the names")->excludes(document);
  command->callback([json, names] { models_verb(*json, *names); });
}

}  // namespace perceiver
