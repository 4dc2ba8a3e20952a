#include "cli/demo.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <fstream>

#include "cli/commands.h"
#include "cli/output_place.h"
#include "perceiver/core/error.h"
#include "perceiver/media/image.h"
#include "perceiver/media/video.h"
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
  DemoPart (*show)(Session& session, const fs::path& folder);
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

void check_output(const fs::path& output) {
  std::error_code ignored;
  if (fs::exists(output, ignored) && !fs::is_directory(output, ignored)) {
    fail("{}: is no folder; name a folder with -o", output.string());
  }
  check_writable(output);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("{}: cannot write: {}", folder.string(), error.message());
}

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) html += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return html;
}

// A page with all that was shown and written.
class Page {
 public:
  explicit Page(fs::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& title, const DemoPart& part) {
    html_ += fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", title, escaped(part.text));
    for (const fs::path& file : part.written) {
      const std::string name = fs::relative(file, folder_).string();
      html_ += has_image_ending(file)
                   ? fmt::format(
                         "<figure><img src=\"{0}\" alt=\"\"><figcaption>{0}</figcaption>"
                         "</figure>\n",
                         name)
                   : fmt::format("<p><a href=\"{0}\">{0}</a></p>\n", name);
    }
  }
  std::string write() const {
    write_file(folder_ / "index.html",
               "<!doctype html>\n<meta charset=\"utf-8\">\n<title>perceiver demo</title>\n"
               "<style>body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto}"
               "figure{margin:1em 0}img{max-width:100%}</style>\n" +
                   html_);
    return (folder_ / "index.html").string();
  }

 private:
  fs::path folder_;
  std::string html_;
};

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
  check_output(args.output);

  Page page(args.output);
  Json document = {{"domains", Json::array()}};
  for (const Domain* domain : shown) {
    const auto start = std::chrono::steady_clock::now();
    SessionOptions options = args.session;
    options.model = model_of(*domain, places);
    Session session(options);
    const fs::path folder = fs::path(args.output) / domain->name;
    make_folder(folder);
    DemoPart part = domain->show(session, folder);
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
    fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_end(index, shown, left_out);
  }
}

}  // namespace

void add_demo_command(CLI::App& app) {
  auto args = std::make_shared<DemoArgs>();
  CLI::App* command =
      add_command(app, "demo", "What the shipped models do with the shipped samples, in a minute",
                  "  perceiver demo\n"
                  "  perceiver demo -o somewhere --json");
  command->add_option("-o,--output", args->output, "Folder for pictures and files")
      ->capture_default_str();
  command->add_option("--models", args->models,
                      "A folder with language-mini, image-mini, flow-mini or multimodal-mini; "
                      "default: the shipped one");
  command->add_flag("--json", args->json, "One JSON document");
  add_compute_options(*command, args->session);
  command->callback([args] { demo(*args); });
}

}  // namespace perceiver
