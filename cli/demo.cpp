#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>

#include "cli/commands.h"
#include "cli/demo_domains.h"
#include "cli/demo_page.h"
#include "cli/session.h"
#include "perceiver/core/error.h"
#include "perceiver/media/video.h"
#include "perceiver/tasks/json.h"
#include "perceiver/zoo/find.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct DemoArgs {
  SessionOptions session;
  std::string output = "perceiver-demo", models;
  bool json = false;
};

ModelPlaces places_of(const DemoArgs& args) {
  ModelPlaces places = model_places();
  if (args.models.empty()) return places;
  if (!fs::is_directory(args.models)) fail("--models {}: is no folder", args.models);
  return {.shipped = args.models};
}

// The model of a domain; "" where there is none.
std::string model_of(const DemoDomain& domain, const ModelPlaces& places) {
  for (const fs::path& folder : {places.shipped, places.models}) {
    if (!folder.empty() && fs::exists(folder / domain.model)) return folder / domain.model;
  }
  return "";
}

// Why a domain is left out; "" where it is shown.
std::string reason_against(const DemoDomain& domain, const std::string& model) {
  if (model.empty()) return fmt::format("{} (no {})", domain.name, domain.model);
  if (domain.show == demo_clips && !video_is_built_in()) {
    return fmt::format("{} (this build reads no video)", domain.name);
  }
  return "";
}

// As the user called it, so that what is printed can be pasted.
std::string program_name() {
  std::ifstream words("/proc/self/cmdline", std::ios::binary);
  std::string name;
  std::getline(words, name, '\0');
  return name.empty() ? "perceiver" : name;
}

std::vector<std::string> commands_for(const std::vector<const DemoDomain*>& domains,
                                      const std::string& program, const std::string& samples) {
  std::vector<std::string> commands;
  for (const DemoDomain* domain : domains) {
    commands.push_back(program + " " + fmt::format(fmt::runtime(domain->next), samples));
  }
  return commands;
}

void print_end(const std::string& page, const std::vector<std::string>& commands,
               const std::vector<std::string>& left_out) {
  if (!left_out.empty()) fmt::print("Not shown: {}\n\n", fmt::join(left_out, ", "));
  fmt::print("Next, on these samples or on what is yours:\n  {}\n", fmt::join(commands, "\n  "));
  fmt::print("\nPictures, files, and a page with all of it: {}\n", page);
}

void demo(const DemoArgs& args) {
  const ModelPlaces places = places_of(args);
  std::vector<const DemoDomain*> shown;
  std::vector<std::string> left_out;
  for (const DemoDomain& domain : demo_domains()) {
    const std::string reason = reason_against(domain, model_of(domain, places));
    if (reason.empty()) {
      shown.push_back(&domain);
    } else {
      left_out.push_back(reason);
    }
  }
  if (shown.empty()) {
    fail("there is no trained model to show: {}; --models names a folder of models",
         fmt::join(left_out, ", "));
  }
  DemoPage page(args.output);
  Json document = {{"domains", Json::array()}};
  for (const DemoDomain* domain : shown) {
    const auto start = std::chrono::steady_clock::now();
    SessionOptions options = args.session;
    options.model = model_of(*domain, places);
    Session session(options);
    DemoPart part = domain->show(session.model, page.folder_for(domain->name));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string made_by = fmt::format("by {} in {:.1f} s", domain->model, seconds);
    if (!args.json) fmt::print("{}, {}\n{}\n", domain->name, made_by, part.text);
    std::fflush(stdout);
    page.add(domain->name, domain->about, made_by, part);
    document["domains"].push_back({{"name", domain->name},
                                   {"model", options.model},
                                   {"seconds", seconds},
                                   {"results", std::move(part.json)}});
  }
  // Who gets the page has other paths.
  const std::string index = page.write(commands_for(shown, "perceiver", "samples"));
  document["left_out"] = left_out;
  document["output"] = args.output;
  if (args.json) {
    fmt::print("{}\n", json_text(document, 2));
  } else {
    const std::string samples = fs::proximate(shipped("samples")).string();
    print_end(index, commands_for(shown, program_name(), samples), left_out);
  }
}

}  // namespace

void add_demo_command(CLI::App& app) {
  auto args = std::make_shared<DemoArgs>();
  CLI::App* command = add_command(
      app, "demo", "Show what the shipped models do with the shipped samples, in a minute",
      "  perceiver demo\n"
      "  perceiver demo -o somewhere --json");
  command->add_option("-o,--output", args->output, "Folder for pictures and files")
      ->capture_default_str();
  command->add_option("--models", args->models,
                      "A folder with language-mini, image-mini, flow-mini, sound-mini, "
                      "entity-mini or multimodal-mini; default: the shipped one");
  command->add_flag("--json", args->json, "Print one JSON document");
  add_compute_options(*command, args->session);
  command->callback([args] { demo(*args); });
}

}  // namespace perceiver
