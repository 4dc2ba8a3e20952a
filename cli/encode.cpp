#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "perceiver/core/error.h"
#include "perceiver/media/image.h"
#include "perceiver/media/video.h"
#include "perceiver/tasks/multimodal/latents.h"
#include "perceiver/tasks/optical_flow/latents.h"
#include "perceiver/tasks/optical_flow/pair.h"
#include "perceiver/zoo/latents.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

struct EncodeArgs {
  SessionOptions session;
  std::vector<std::string> inputs;
  std::optional<std::string> text;
  std::string output = "latents.safetensors";
  bool json = false;
};

// The shipped model of the domain that the input seems to be of.
std::string default_model(const EncodeArgs& args) {
  if (args.text) return "language-mini";
  if (has_image_ending(args.inputs[0])) {
    return args.inputs.size() == 2 ? "flow-mini" : "image-mini";
  }
  return has_video_ending(args.inputs[0]) ? "multimodal-mini" : "language-mini";
}

std::vector<File> read_inputs(const EncodeArgs& args) {
  if (args.text) return {{"--text", *args.text}};
  std::vector<File> files;
  for (const std::string& input : args.inputs) files.push_back(read_input(input));
  return files;
}

double encoding_work(const ModelSummary& summary) {
  ModelSummary encoder;
  for (const Part& part : summary.parts) {
    if (part.name.starts_with("encoder.")) encoder.parts.push_back(part);
  }
  return attention_work(encoder);
}

void encode_flow(OpticalFlowImpl& model, const std::vector<File>& files, LatentsFile& file) {
  const Tensor frames = read_frames(files);
  const FrameTiles tiles = cut_into_tiles(model.config(), frames, TilePlacement::kEven);
  const PassProgress progress("encode", encoding_work(model.summary()) * std::ssize(tiles.corners));
  file.arrays = {{"latents", encode_tiles(model, frames)}, {"frames", frames}};
  file.geometry = {{"frame_size", {frames.size(2), frames.size(3)}},
                   {"tile_starts", tile_starts(tiles)}};
}

void encode_chunks(MultimodalImpl& model, const std::vector<File>& files, LatentsFile& file) {
  if (files.size() != 1) fail("a clip is one file, got {}", files.size());
  ChunkReader clip(files[0], model.config());
  for (const auto& [there, what] :
       {std::pair{clip.has_sound(), "sound"}, {clip.has_picture(), "picture"}}) {
    if (!there) note(fmt::format("{}: has no {}; the model fills it in", files[0].name, what));
  }
  const PassProgress progress(
      "encode", encoding_work(model.summary(model.num_outputs())) * clip.expected_chunks());
  const ClipLatents encoded = encode_clip(model, clip);
  if (encoded.num_frames == 0) fail("{}: has no frames", files[0].name);
  file.arrays = {{"latents", encoded.latents}};
  file.geometry = {{"num_frames", {encoded.num_frames}},
                   {"frames_per_second", {kFramesPerSecond}},
                   {"frames_per_chunk", {model.config().num_frames}}};
}

void encode_one(Task& task, const std::vector<File>& files, LatentsFile& file) {
  const Example inputs = task.read(files);
  const int64_t rows = inputs.begin()->second.size(0);
  const PassProgress progress("encode", encoding_work(task.summary(Split::kEval)) * rows);
  file.arrays = {{"latents", task.encode(inputs).to(at::kCPU, at::kFloat)}};
  // Queries for words have to know which bytes those are.
  if (file.task == "language") file.arrays["ids"] = inputs.at("ids").to(at::kInt);
}

void print(const LatentsFile& file, const EncodeArgs& args) {
  const Tensor& latents = file.latents();
  if (args.json) {
    const Json document = {{"output", args.output},
                           {"input", file.input},
                           {"model", file.model},
                           {"task", file.task},
                           {"fingerprint", file.fingerprint},
                           {"latents", latents.sizes().vec()}};
    fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  fmt::print("latents {} x {}\n{}\n", grouped(latents.size(0)),
             array(latents.size(1), latents.size(2)), args.output);
}

void encode(EncodeArgs args) {
  if (args.text ? !args.inputs.empty() : args.inputs.empty()) {
    fail("give what to encode: files, or a text with --text");
  }
  if (args.session.model.empty()) args.session.model = default_model(args);
  const std::vector<File> files = read_inputs(args);
  args.session.fingerprint = true;
  Session session(args.session);
  LatentsFile file{.task = read_config_key(session.model.settings, "task"),
                   .model = args.session.model,
                   .fingerprint = session.fingerprint,
                   .input = fmt::format("{}", fmt::join(args.inputs, ", "))};
  torch::nn::Module* model = &session.model.task->model();
  if (auto* flow = dynamic_cast<OpticalFlowImpl*>(model)) {
    encode_flow(*flow, files, file);
  } else if (auto* multimodal = dynamic_cast<MultimodalImpl*>(model)) {
    encode_chunks(*multimodal, files, file);
  } else {
    encode_one(*session.model.task, files, file);
  }
  write_latents(args.output, file);
  print(file, args);
}

}  // namespace

void add_encode_command(CLI::App& app) {
  auto args = std::make_shared<EncodeArgs>();
  CLI::App* command = add_command(
      app, "encode", "The latents of an input, to be queried as often as you like",
      "  perceiver encode a.png b.png -o flow.safetensors\n"
      "  perceiver encode clip.mp4 -o clip.safetensors\n"
      "  perceiver encode --text \"Paris is the capital of France.\" -o paris.safetensors\n"
      "  perceiver query paris.safetensors --words 4");
  command
      ->add_option("inputs", args->inputs,
                   "A picture, two frames, a clip, or a file of text, by the model's task; '-' is "
                   "the standard input")
      ->expected(0, 2);
  command->add_option("--text", args->text, "The text itself");
  command->add_option("-o,--output", args->output, "Where the latents go")->capture_default_str();
  add_session_options(*command, args->session, "");
  command->get_option("--model")->required(false)->description(
      command->get_option("--model")->get_description() +
      "; default: the shipped one of the input's kind");
  command->add_flag("--json", args->json, "One JSON document");
  command->callback([args] { encode(*args); });
}

}  // namespace perceiver
