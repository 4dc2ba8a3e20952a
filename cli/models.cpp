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

Json to_json(const Entries& entries) {
  Json rows = Json::array();
  for (const CatalogueEntry& entry : entries) {
    rows.push_back({{"name", entry.name},
                    {"task", entry.task},
                    {"parameters", entry.parameters},
                    {"about", entry.about},
                    {"path", entry.path.string()}});
  }
  return rows;
}

std::string lines(const Entries& entries) {
  size_t name_width = 0, task_width = 0;
  for (const CatalogueEntry& entry : entries) {
    name_width = std::max(name_width, entry.name.size());
    task_width = std::max(task_width, entry.task.size());
  }
  std::string text;
  for (const CatalogueEntry& entry : entries) {
    std::string line =
        fmt::format("  {:<{}}  {:<{}}  {:>6}  {}", entry.name, name_width, entry.task, task_width,
                    amount(static_cast<double>(entry.parameters)), entry.about);
    if (line.size() > terminal_width()) line = line.substr(0, terminal_width() - 3) + "...";
    text += line + "\n";
  }
  return text;
}

void models_verb(bool json) {
  const ModelPlaces places = model_places();
  const Entries models = models_in(places), configs = configs_in(shipped("configs"));
  const std::vector<std::string> released = released_models_not_in(places);
  if (json) {
    const Json document = {
        {"models", to_json(models)}, {"not_here", released}, {"configs", to_json(configs)}};
    fmt::print("{}\n", json_text(document, 2));
    return;
  }
  fmt::print("Models on this machine, by the name that -m takes: task, parameters\n{}",
             lines(models));
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
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON document");
  command->callback([json] { models_verb(*json); });
}

}  // namespace perceiver
