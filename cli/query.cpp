#include "cli/query.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "cli/classes.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/media/flow.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/audioset/model.h"
#include "perceiver/tasks/glue/model.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/optical_flow/model.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

// What can be asked of each task's latents.
void check_options(const QueryArgs& args, const std::string& task) {
  const std::map<std::string, std::vector<std::string>> takes = {
      {"optical_flow", {"--pixels", "--box"}},
      {"multimodal", {"--frames", "--pixels", "--box", "--seconds", "--label"}},
      {"language", {"--words"}},
      {"glue", {"--tasks"}}};
  const auto known = takes.find(task);
  const std::vector<std::string> own =
      known == takes.end() ? std::vector<std::string>{"--label"} : known->second;
  for (const auto& [given, option] : {std::pair{!args.pixels.empty(), "--pixels"},
                                      {!args.box.empty(), "--box"},
                                      {!args.frames.empty(), "--frames"},
                                      {!args.seconds.empty(), "--seconds"},
                                      {!args.words.empty(), "--words"},
                                      {!args.tasks.empty(), "--tasks"},
                                      {args.label, "--label"}}) {
    if (given && std::find(own.begin(), own.end(), option) == own.end()) {
      fail("{}: cannot be asked of latents of the task {}, which takes {}", option, task,
           fmt::join(own, ", "));
    }
  }
}

void check_model(const LatentsFile& file, const Session& session, const QueryArgs& args) {
  if (file.fingerprint != session.fingerprint) {
    fail(
        "{}: the latents are of {} (fingerprint {}), which is not {} (fingerprint {}); query them "
        "with the model that made them",
        args.file, file.model, file.fingerprint, session.model.source, session.fingerprint);
  }
  const std::optional<ArraySize> size = session.model.task->summary(Split::kEval).latents;
  const Tensor& latents = file.latents();
  if (latents.size(1) != size->index || latents.size(2) != size->channels) {
    fail("{}: latents of {}, the model's are {}", args.file,
         array(latents.size(1), latents.size(2)), array(size->index, size->channels));
  }
}

// The mean of what the rows say, where an input has several.
template <typename Model>
Tensor logits_of(Model& model, const Tensor& latents) {
  return model.decode(latents.to(model.parameters().front().options())).to(at::kFloat).cpu();
}

Answer ask(Session& session, const LatentsFile& file, const QueryArgs& args) {
  torch::nn::Module* model = &session.model.task->model();
  if (auto* flow = dynamic_cast<OpticalFlowImpl*>(model)) return ask_flow(*flow, file, args);
  if (auto* language = dynamic_cast<LanguageImpl*>(model)) return ask_words(*language, file, args);
  if (auto* glue = dynamic_cast<GlueImpl*>(model)) return ask_glue(*glue, file, args);
  if (auto* multimodal = dynamic_cast<MultimodalImpl*>(model)) {
    return ask_clip(*multimodal, session.model, file, args);
  }
  const Tensor& latents = file.latents();
  Tensor probabilities;
  if (auto* imagenet = dynamic_cast<ImageNetImpl*>(model)) {
    probabilities = logits_of(*imagenet, latents).softmax(-1);
  } else if (auto* text = dynamic_cast<TextClassifierImpl*>(model)) {
    probabilities = logits_of(*text, latents).softmax(-1);
  } else if (auto* audioset = dynamic_cast<AudioSetImpl*>(model)) {
    probabilities = logits_of(*audioset, latents).sigmoid();  // a clip may have several labels
  } else {
    fail("{}: latents of the task {} cannot be queried yet", args.file, file.task);
  }
  return top_classes(session.model, probabilities.mean(0), args.top);
}

void write(const Answer& answer, const std::string& path) {
  const auto required = [&](bool there, const char* what, const char* ask) {
    if (!there) fail("-o {}: the answer is no {}; {}, or take .safetensors", path, what, ask);
  };
  if (path.ends_with(".safetensors")) {
    write_safetensors(path, answer.arrays);
  } else if (path.ends_with(".png")) {
    required(answer.picture.defined(), "picture", "ask for --box or --frames");
    write_file(path, encode_png(answer.picture));
  } else if (path.ends_with(".flo")) {
    required(answer.flow.defined(), "flow of a box", "ask optical flow for --box");
    write_file(path, encode_flo(answer.flow));
  } else if (path.ends_with(".wav")) {
    required(answer.sound.has_value(), "sound", "ask for --seconds");
    write_file(path, encode_wav(*answer.sound));
  } else {
    fail("-o {}: expected a name that ends in .png, .flo, .wav or .safetensors", path);
  }
}

void query(QueryArgs args) {
  const LatentsFile file = read_latents(args.file);
  check_options(args, file.task);
  if (args.session.model.empty()) args.session.model = file.model;
  args.session.fingerprint = true;
  Session session(args.session);
  check_model(file, session, args);
  Answer answer = ask(session, file, args);
  if (!args.output.empty()) {
    write(answer, args.output);
    answer.json = {{"output", args.output}};
    answer.text = args.output + "\n";
  }
  if (!args.json) {
    fmt::print("{}", answer.text);
    return;
  }
  fmt::print("{}\n", answer.json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

Answer top_classes(const Model& model, const Tensor& probabilities, int64_t top) {
  Answer answer{.json = {{"top", likeliest_classes(model, probabilities, top)}},
                .arrays = {{"probabilities", probabilities}}};
  std::vector<std::vector<std::string>> rows = {{"class", "probability"}};
  for (const Json& item : answer.json["top"]) {
    rows.push_back({item["name"].get<std::string>(),
                    fmt::format("{:.3f}", item["probability"].get<double>())});
  }
  answer.text = table(rows);
  return answer;
}

void add_query_command(CLI::App& app) {
  auto args = std::make_shared<QueryArgs>();
  CLI::App* command = add_command(
      app, "query", "Ask latents for any outputs: pixels, seconds, words, tasks, the label",
      "  perceiver query flow.safetensors --pixels 10,20 300,40\n"
      "  perceiver query flow.safetensors --box 0,0,128,96 -o corner.flo\n"
      "  perceiver query clip.safetensors --frames 3,5-7 -o frames.png\n"
      "  perceiver query clip.safetensors --seconds 0.1-0.4 -o sound.wav\n"
      "  perceiver query paris.safetensors --words 4");
  command->add_option("file", args->file, "What 'perceiver encode' wrote")->required();
  command->add_option("--pixels", args->pixels, "Pixels as x,y, counted from 0");
  command->add_option("--box", args->box, "x0,y0,x1,y1: from x0,y0 up to x1,y1, without them");
  command->add_option("--frames", args->frames, "Frames of a clip, such as 3,5-7, counted from 1");
  command->add_option("--seconds", args->seconds, "Sound of a clip, such as 0.1-0.4");
  command->add_option("--words", args->words, "Words of a text, such as 2,5-7, counted from 1");
  command->add_option("--tasks", args->tasks, "GLUE's tasks, such as cola,sst2")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--label", args->label, "The label of a clip");
  command->add_option("-k,--top", args->top, "So many classes, or bytes of each place")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("-o,--output", args->output,
                      "By its ending: .png for pixels, .flo for flow, .wav for sound, "
                      ".safetensors for anything");
  add_session_options(*command, args->session, "");
  command->get_option("--model")->required(false)->description(
      command->get_option("--model")->get_description() + "; default: the one the file names");
  command->add_flag("--json", args->json, "One JSON document");
  command->callback([args] { query(*args); });
}

}  // namespace perceiver
