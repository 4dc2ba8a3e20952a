#include "perceiver/tasks/attend.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/attend_text.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "perceiver/tasks/given_inputs.h"
#include "perceiver/tasks/json.h"

namespace perceiver {
namespace {

struct AttendArgs {
  SessionOptions session;
  std::vector<std::string> inputs;
  AttendOptions options;
  bool json = false;
};

std::vector<File> input_files(const AttendArgs& args, const Model& model) {
  if (args.inputs.empty()) return {read_file(shipped("samples/pictures/ship.png"))};
  return given_files(args.inputs, application_of(model).reads());
}

void attend_verb(AttendArgs args) {
  if (args.session.model.empty()) args.session.model = shipped_model_for(args.inputs);
  Session session(args.session);
  check_not_read(args.options.output, args.inputs, session.model);
  args.options.seed = static_cast<uint64_t>(args.session.seed);
  const AttendMaps maps = attend(session.model, input_files(args, session.model), args.options);
  const std::string written = write_maps(maps, args.options.output);
  if (args.json) {
    nlohmann::ordered_json document = {{"maps", to_json(maps)}};
    if (!written.empty()) document["output"] = written;
    fmt::print("{}\n", json_text(with_origin(document, session.model), 2));
    return;
  }
  if (written.empty() && !maps.shown().texts.empty()) print_text(maps.shown(), maps.drawn());
  fmt::print("{}", share_table(maps));
  if (!written.empty()) fmt::print("{}\n", written);
}

}  // namespace

void add_attend_command(CLI::App& app) {
  auto args = std::make_shared<AttendArgs>();
  CLI::App* command = add_command(
      app, "attend", "Show what latents look at in a text, a picture or a clip",
      "  perceiver attend --query\n"
      "  perceiver attend cat.jpg -m deepmind/vision-perceiver-conv -o cat-attention.png\n"
      "  perceiver attend \"The quick brown fox jumps.\" --clusters 3\n"
      "  perceiver attend letter.txt -m deepmind/language-perceiver -o letter.html\n"
      "  perceiver attend clip.mp4 -m deepmind/multimodal-perceiver --clusters 4 -o clip-maps.mp4");
  command->add_option("inputs", args->inputs,
                      "A file, a pair of frames, or a text, in which [MASK] is a missing word; "
                      "default: a shipped picture");
  command->add_option("-o,--output", args->options.output,
                      "A picture (.png), a video, .html for texts, or the numbers (.npz, "
                      ".safetensors); default: attend.png, and the terminal for texts and arrays");
  CLI::Option* latents = command
                             ->add_option("--latents", args->options.latents,
                                          "Show these latents, such as 0,7,31, counted from 0")
                             ->delimiter(',')
                             ->allow_extra_args(false);
  CLI::Option* clusters =
      command
          ->add_option("--clusters", args->options.clusters,
                       "Show all latents, in this many groups that look at similar places")
          ->capture_default_str()
          ->check(whole_number(1, 64));
  command
      ->add_flag("--query", args->options.query,
                 "Show what the class was read from, through the latents that its query looks at")
      ->excludes(latents)
      ->excludes(clusters);
  latents->excludes(clusters);
  command->add_option("--head", args->options.head,
                      "Show one head of the attention, counted from 0; default: the mean of all");
  command->add_flag("--json", args->json, "Print one JSON document");
  add_session_options(*command, args->session, "");
  command->get_option("--model")->required(false)->description(
      command->get_option("--model")->get_description() +
      "; default: the shipped one of the input's kind");
  command->callback([args] { attend_verb(*args); });
}

}  // namespace perceiver
