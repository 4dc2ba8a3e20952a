#include "cli/demo.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <fstream>

#include "cli/commands.h"
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

struct Domain {
  const char *name, *model;
  DemoPart (*show)(Model& model, const fs::path& folder);
  const char* next;  // a command to try; {} is the folder of samples
};

constexpr std::array kDomains = {
    Domain{"words", "language-mini", demo_words,
           "fill \"She opened the [MASK] and looked into the garden.\""},
    Domain{"pictures", "image-mini", demo_pictures, "classify {}/pictures/frog.png -k 10"},
    Domain{"motion", "flow-mini", demo_motion, "flow {}/flow/camera -o flow.png --legend"},
    Domain{"clips", "multimodal-mini", demo_clips, "autoencode {}/clip.avi"}};

ModelPlaces places_of(const DemoArgs& args) {
  ModelPlaces places = model_places();
  if (args.models.empty()) return places;
  if (!fs::is_directory(args.models)) fail("--models {}: is no folder", args.models);
  return {.shipped = args.models};
}

// The model of a domain; "" where there is none.
std::string model_of(const Domain& domain, const ModelPlaces& places) {
  for (const fs::path& folder : {places.shipped, places.models}) {
    if (!folder.empty() && fs::exists(folder / domain.model)) return folder / domain.model;
  }
  return "";
}

// Why a domain is left out; "" where it is shown.
std::string reason_against(const Domain& domain, const std::string& model) {
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

void print_end(const std::string& page, const std::vector<const Domain*>& shown,
               const std::vector<std::string>& left_out) {
  if (!left_out.empty()) fmt::print("Not shown: {}\n\n", fmt::join(left_out, ", "));
  fmt::print("Next, on these samples or on what is yours:\n");
  const std::string samples = fs::proximate(shipped("samples")).string();
  for (const Domain* domain : shown) {
    fmt::print("  {} {}\n", program_name(), fmt::format(fmt::runtime(domain->next), samples));
  }
  fmt::print("\nPictures, files, and a page with all of it: {}\n", page);
}

void demo(const DemoArgs& args) {
  const ModelPlaces places = places_of(args);
  std::vector<const Domain*> shown;
  std::vector<std::string> left_out;
  for (const Domain& domain : kDomains) {
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
  for (const Domain* domain : shown) {
    const auto start = std::chrono::steady_clock::now();
    SessionOptions options = args.session;
    options.model = model_of(*domain, places);
    Session session(options);
    DemoPart part = domain->show(session.model, page.folder_for(domain->name));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string title =
        fmt::format("{}, by {} in {:.1f} s", domain->name, domain->model, seconds);
    if (!args.json) fmt::print("{}\n{}\n", title, part.text);
    std::fflush(stdout);
    page.add(title, part);
    document["domains"].push_back({{"name", domain->name},
                                   {"model", options.model},
                                   {"seconds", seconds},
                                   {"results", std::move(part.json)}});
  }
  const std::string index = page.write();
  document["left_out"] = left_out;
  document["output"] = args.output;
  if (args.json) {
    fmt::print("{}\n", json_text(document, 2));
  } else {
    print_end(index, shown, left_out);
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
                      "A folder with language-mini, image-mini, flow-mini or multimodal-mini; "
                      "default: the shipped one");
  command->add_flag("--json", args->json, "Print one JSON document");
  add_compute_options(*command, args->session);
  command->callback([args] { demo(*args); });
}

}  // namespace perceiver
