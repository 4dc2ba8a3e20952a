#include "perceiver/tasks/multimodal/autoencode.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/verb_hooks.h"
#include "perceiver/core/error.h"
#include "perceiver/tasks/json.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

struct AutoencodeArgs {
  SessionOptions session;
  std::string clip, output, sound = "reconstruction";
  AutoencodeOptions options;
  bool json = false;
};

fs::path output_path(const AutoencodeArgs& args) {
  if (args.output == "-") fail("--output -: a video cannot go to the standard output; give a path");
  if (!args.output.empty()) return args.output;
  if (args.clip == "-") return "autoencoded.mp4";
  return fs::path(args.clip).stem().string() + "-autoencoded.mp4";
}

void print(const Autoencoded& done, const Model& model, const AutoencodeArgs& args) {
  if (args.json) {
    nlohmann::ordered_json document = {{"file", args.clip}};
    document.update(to_json(done));
    fmt::print("{}\n", json_text(with_origin(document, model), 2));
    return;
  }
  const auto decibels = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f} dB", *value) : "-";
  };
  fmt::print("video PSNR  {}\naudio PSNR  {}\n", decibels(done.video_psnr),
             decibels(done.audio_psnr));
  for (const RankedClass& label : done.top) {
    fmt::print("label       {:.3f} {}\n", label.probability, label.name);
  }
  fmt::print("{}\n", done.output.string());
}

void autoencode_verb(AutoencodeArgs args) {
  if (args.clip.empty()) args.clip = shipped("samples/clip.avi").string();
  args.options.original_sound = args.sound == "original";
  const fs::path output = output_path(args);
  frame_range(args.options);  // a mistake is found before the model is loaded
  const File file = read_input(args.clip);
  std::error_code ignored;
  if (fs::equivalent(args.clip, output, ignored)) {
    fail("--output {}: is the clip itself; give another path", output.string());
  }
  Session session(args.session);
  VerbHooks verb;
  args.options.hooks = verb.hooks();
  const Autoencoded done = autoencode(session.model, file, output, args.options);
  verb.clear();
  print(done, session.model, args);
}

}  // namespace

void add_autoencode_command(CLI::App& app) {
  auto args = std::make_shared<AutoencodeArgs>();
  CLI::App* command = add_command(
      app, "autoencode",
      "Put a clip's video, sound and label through one latent array and back; no trained model for "
      "clips comes with the program",
      "  perceiver autoencode clip.mp4 -m deepmind/multimodal-perceiver\n"
      "  perceiver autoencode clip.mp4 -m deepmind/multimodal-perceiver --seconds 0.5-1.5 --mask "
      "audio -o filled.mp4\n"
      "  perceiver autoencode -m configs/multimodal_mini.toml --json");
  command->add_option("clip", args->clip,
                      "A video with sound, or - for the standard input; default: a shipped sample");
  command->add_option("-o,--output", args->output,
                      "The original beside the reconstruction: .mp4, .mkv …, or without an ending "
                      "a folder of pictures; default: CLIP-autoencoded.mp4");
  command
      ->add_option(
          "--mask", args->options.masked,
          "Hide this input, so that the model fills it in: audio or video; the label is always "
          "hidden")
      ->allow_extra_args(false)
      ->check(one_of({"label", "audio", "video"}));
  command->add_option("--sound", args->sound, "Which sound the output has")
      ->capture_default_str()
      ->check(one_of({"original", "reconstruction"}));
  command->add_option("--seconds", args->options.seconds,
                      "Only this part of the clip, such as 2-3.5");
  command
      ->add_option("--frames", args->options.num_frames, "At most this many frames, of 25 a second")
      ->check(whole_number(1));
  command->add_option("-k,--top", args->options.top, "How many labels to show")
      ->capture_default_str()
      ->check(whole_number(1, 1000));
  command->add_flag("--json", args->json, "Print one JSON document");
  add_session_options(*command, args->session, "multimodal-mini");
  command->callback([args] { autoencode_verb(*args); });
}

}  // namespace perceiver
