#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/attend_maps.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/session.h"
#include "perceiver/core/error.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct AttendArgs {
  SessionOptions session;
  std::vector<std::string> inputs;
  std::string output;
  std::vector<int64_t> latents;
  int64_t clusters = 6;
  std::optional<int64_t> head;
  bool query = false, json = false;
};

Groups chosen_latents(const AttendArgs& args, int64_t latents) {
  Groups groups{{}, at::zeros({static_cast<int64_t>(args.latents.size()), latents})};
  for (size_t i = 0; i < args.latents.size(); ++i) {
    const int64_t latent = args.latents[i];
    if (latent < 0 || latent >= latents) {
      fail("--latents: {} is not among the model's {} latents, counted from 0", latent, latents);
    }
    groups.groups.push_back({fmt::format("latent {}", latent), {latent}});
    groups.weights[static_cast<int64_t>(i)][latent] = 1.0;
  }
  return groups;
}

// How much of a map [M] falls on each part of the input.
std::vector<double> shares(const Tensor& map, const std::vector<InputView>& views) {
  std::vector<double> shares;
  for (const InputView& view : views) {
    shares.push_back(map.narrow(0, view.first, elements(view)).sum().item<double>());
  }
  return shares;
}

void print_table(const Groups& groups, const Tensor& maps, const std::vector<InputView>& views) {
  std::vector<std::vector<std::string>> rows = {{"map"}};
  for (const InputView& view : views) rows[0].push_back("on " + view.modality);
  for (size_t i = 0; i < groups.groups.size(); ++i) {
    rows.push_back({groups.groups[i].name});
    for (const double share : shares(maps[static_cast<int64_t>(i)], views)) {
      rows.back().push_back(fmt::format("{:.1f} %", 100.0 * share));
    }
  }
  fmt::print("{}", table(rows));
}

Json to_json(const Groups& groups, const Tensor& maps, const std::vector<InputView>& views) {
  Json list = Json::array();
  for (size_t i = 0; i < groups.groups.size(); ++i) {
    const Tensor map = maps[static_cast<int64_t>(i)];
    const auto [values, indices] = map.topk(std::min<int64_t>(10, map.size(0)));
    Json strongest = Json::array();
    for (int64_t j = 0; j < values.size(0); ++j) {
      strongest.push_back(
          {{"element", indices[j].item<int64_t>()}, {"weight", values[j].item<double>()}});
    }
    Json share = Json::object();
    const std::vector<double> parts = shares(map, views);
    for (size_t v = 0; v < views.size(); ++v) share[views[v].modality] = parts[v];
    list.push_back({{"name", groups.groups[i].name},
                    {"latents", groups.groups[i].latents},
                    {"share", std::move(share)},
                    {"strongest", std::move(strongest)}});
  }
  return list;
}

std::vector<File> input_files(const AttendArgs& args) {
  if (args.inputs.empty()) return {read_file(shipped("samples/pictures/ship.png"))};
  std::vector<File> files;
  for (const std::string& input : args.inputs) {
    // A sentence is no file; what has an ending or a folder was meant to be one.
    const bool sentence = input != "-" && !fs::exists(input) && input.find(' ') != input.npos;
    files.push_back(sentence ? File{"the text", input} : read_input(input));
  }
  return files;
}

void attend_verb(const AttendArgs& args) {
  Session session(args.session);
  Task& task = *session.model.task;
  Example inputs = task.read(input_files(args));
  for (auto& [name, array] : inputs) array = array.narrow(0, 0, 1);
  const std::vector<InputView> views = task.views(inputs);
  const InputView& shown = shown_view(views);
  check_picture_name(args.output, shown);

  const Looks looks = look(task, inputs, args.query);
  const auto clustered = [&] {
    return clustered_latents(looks, shown,
                             {.clusters = args.clusters,
                              .seed = static_cast<uint64_t>(args.session.seed),
                              .head = args.head});
  };
  const Groups groups = args.query             ? class_query(looks)
                        : args.latents.empty() ? clustered()
                                               : chosen_latents(args, looks.encoder.q.size(2));
  const Tensor maps = mix_attention(looks.encoder, groups.weights, {.head = args.head});
  const std::string written =
      draw_maps(shown, maps_over(shown, groups, maps), args.output, args.json);
  if (args.json) {
    Json document = {{"maps", to_json(groups, maps, views)}};
    if (!written.empty()) document["output"] = written;
    fmt::print("{}\n", document.dump(2));
    return;
  }
  print_table(groups, maps, views);
  if (!written.empty()) fmt::print("{}\n", written);
}

}  // namespace

void add_attend_command(CLI::App& app) {
  auto args = std::make_shared<AttendArgs>();
  CLI::App* command = add_command(
      app, "attend", "Show what latents look at in a text, a picture or a clip",
      "  perceiver attend --query\n"
      "  perceiver attend cat.jpg -m deepmind/vision-perceiver-conv -o cat-attention.png\n"
      "  perceiver attend \"The quick brown fox jumps.\" -m language-mini --latents 0,7,31\n"
      "  perceiver attend letter.txt -m deepmind/language-perceiver -o letter.html\n"
      "  perceiver attend clip.mp4 -m deepmind/multimodal-perceiver --clusters 4 -o clip-maps.mp4");
  command->add_option("inputs", args->inputs,
                      "A file, a pair of frames, or a text; default: a shipped picture");
  command->add_option("-o,--output", args->output,
                      "A picture (.png), a video, or .html for texts; default: attend.png, and the "
                      "terminal for texts");
  CLI::Option* latents = command->add_option("--latents", args->latents, "These latents, as 0,7,31")
                             ->delimiter(',')
                             ->allow_extra_args(false);
  CLI::Option* clusters =
      command
          ->add_option("--clusters", args->clusters,
                       "All latents, in so many groups that look at like places")
          ->capture_default_str()
          ->check(CLI::Range(1, 64));
  command
      ->add_flag("--query", args->query,
                 "What the query for the class sees, through the latents it looks at")
      ->excludes(latents)
      ->excludes(clusters);
  latents->excludes(clusters);
  command->add_option("--head", args->head, "One head of the attention; default: the mean of all");
  command->add_flag("--json", args->json, "One JSON document");
  add_session_options(*command, args->session, "image-mini");
  command->callback([args] { attend_verb(*args); });
}

}  // namespace perceiver
