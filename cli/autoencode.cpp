#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/autoencoder.h"
#include "cli/classes.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "perceiver/core/error.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct AutoencodeArgs {
  SessionOptions session;
  std::string clip, output, seconds, sound = "reconstruction";
  AutoencoderOptions model;
  int64_t frames = 0;  // 0: all
  int64_t top = 5;
  bool json = false;
};

fs::path output_path(const AutoencodeArgs& args) {
  if (args.output == "-") fail("--output -: a video cannot go to the standard output; give a path");
  if (!args.output.empty()) return args.output;
  if (args.clip == "-") return "autoencoded.mp4";
  return fs::path(args.clip).stem().string() + "-autoencoded.mp4";
}

// "2-3.5" of a clip's seconds.
FrameRange frame_range(const AutoencodeArgs& args) {
  FrameRange range;
  if (!args.seconds.empty()) {
    double begin = 0.0, end = 0.0;
    int used = 0;
    const int values = std::sscanf(args.seconds.c_str(), "%lf-%lf%n", &begin, &end, &used);
    constexpr double kLongest = 1e6;
    if (values != 2 || used != static_cast<int>(args.seconds.size()) || !(begin >= 0.0) ||
        !(end > begin) || end > kLongest) {
      fail("--seconds: expected a beginning and an end such as 2-3.5, got '{}'", args.seconds);
    }
    range.first = std::llround(begin * kFramesPerSecond);
    range.count = std::max(std::llround(end * kFramesPerSecond) - range.first, 1LL);
  }
  if (args.frames > 0) range.count = std::min(range.count, args.frames);
  return range;
}

// What is not there can only be filled in.
void check_modalities(const ChunkReader& clip, const std::string& name,
                      const AutoencodeArgs& args) {
  if (!clip.has_sound() && !args.model.masks("audio")) {
    fail("{}: has no sound; --mask audio lets the model fill it in", name);
  }
  if (!clip.has_picture() && !args.model.masks("video")) {
    fail("{}: has no picture; --mask video lets the model fill it in", name);
  }
  if (!clip.has_sound() && args.sound == "original") {
    fail("{}: has no sound for --sound original; take reconstruction", name);
  }
}

void print(const Autoencoding& done, const Model& model, const ChunkReader& clip,
           const AutoencodeArgs& args, const fs::path& output) {
  const Json top = likeliest_classes(model, done.label / done.num_chunks, args.top);
  // Of what the clip does not have there is nothing to compare with.
  const Json video = clip.has_picture() ? Json(done.video.decibels()) : Json();
  const Json audio = clip.has_sound() ? Json(done.audio.decibels()) : Json();
  if (args.json) {
    const Json document = {{"file", args.clip},
                           {"output", output.string()},
                           {"frames", done.num_frames},
                           {"chunks", done.num_chunks},
                           {"psnr", {{"video", video}, {"audio", audio}}},
                           {"top", top}};
    fmt::print("{}\n", document.dump(2));
    return;
  }
  const auto decibels = [](const Json& value) {
    return value.is_null() ? "-" : fmt::format("{:.2f} dB", value.get<double>());
  };
  fmt::print("video PSNR  {}\naudio PSNR  {}\n", decibels(video), decibels(audio));
  for (const Json& item : top) {
    fmt::print("label       {:.3f} {}\n", item["probability"].get<double>(),
               item["name"].get<std::string>());
  }
  fmt::print("{}\n", output.string());
}

void autoencode(AutoencodeArgs args) {
  if (args.clip.empty()) args.clip = shipped("samples/clip.avi").string();
  args.model.original_sound = args.sound == "original";
  const fs::path output = output_path(args);
  const FrameRange range = frame_range(args);
  const File file = read_input(args.clip);
  std::error_code ignored;
  if (fs::equivalent(args.clip, output, ignored)) {
    fail("--output {}: is the clip itself; give another path", output.string());
  }
  Session session(args.session);
  auto& model = model_as<MultimodalImpl>(session.model, "autoencode", "multimodal");
  ChunkReader clip(file, model.config(), range);
  check_modalities(clip, file.name, args);
  VideoWriter writer(output, autoencoded_format(model.config()));
  const Autoencoding done = autoencode_chunks(model, clip, writer, args.model);
  if (done.num_frames == 0) {
    if (args.seconds.empty()) fail("{}: has no frames", file.name);
    fail("{}: has ended before --seconds {}", file.name, args.seconds);
  }
  writer.finish();
  print(done, session.model, clip, args, writer.path());
}

}  // namespace

void add_autoencode_command(CLI::App& app) {
  auto args = std::make_shared<AutoencodeArgs>();
  CLI::App* command = add_command(
      app, "autoencode", "Video, sound and label of a clip through one latent array, and back",
      "  perceiver autoencode clip.mp4\n"
      "  perceiver autoencode clip.mp4 --seconds 2-4 --mask audio -o filled_in.mp4\n"
      "  perceiver autoencode clip.mp4 -m deepmind/multimodal-perceiver --json");
  command->add_option("clip", args->clip,
                      "A video with sound, or - for the standard input; default: a shipped sample");
  command->add_option("-o,--output", args->output,
                      "The original beside the reconstruction: .mp4, .mkv …, or without an ending "
                      "a folder of pictures; default: CLIP-autoencoded.mp4");
  command
      ->add_option("--mask", args->model.masked,
                   "Hides this input, so that the model fills it in: audio or video. The label "
                   "always is hidden")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"label", "audio", "video"}));
  command->add_option("--sound", args->sound, "What is heard in the output")
      ->capture_default_str()
      ->check(CLI::IsMember({"original", "reconstruction"}));
  command->add_option("--seconds", args->seconds, "Only from A to B, such as 2-3.5");
  command->add_option("--frames", args->frames, "At most so many frames, of 25 a second")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command->add_option("-k,--top", args->top, "So many labels")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_flag("--json", args->json, "One JSON document");
  add_session_options(*command, args->session, "multimodal-mini");
  command->callback([args] { autoencode(*args); });
}

}  // namespace perceiver
