#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/verb_hooks.h"
#include "perceiver/core/error.h"
#include "perceiver/core/text.h"
#include "perceiver/tasks/given_inputs.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/query.h"

namespace perceiver {
namespace {

struct EncodeArgs {
  SessionOptions session;
  std::vector<std::string> inputs;
  std::optional<std::string> text;
  std::string output = "latents.safetensors";
  bool json = false;
};

std::string default_model(const EncodeArgs& args) {
  return args.text ? "language-mini" : shipped_model_for(args.inputs);
}

std::vector<File> input_files(const EncodeArgs& args, const Model& model) {
  if (args.text) return {{"--text", *args.text}};
  return given_files(args.inputs, application_of(model).reads());
}

void print(const LatentsFile& file, const Model& model, const EncodeArgs& args) {
  const Tensor& latents = file.latents();
  if (args.json) {
    const nlohmann::ordered_json document = {{"output", args.output},
                                             {"input", file.input},
                                             {"model", file.model},
                                             {"task", file.task},
                                             {"fingerprint", file.fingerprint},
                                             {"latents", latents.sizes().vec()}};
    fmt::print("{}\n", json_text(with_origin(document, model), 2));
    return;
  }
  fmt::print("latents {} x {}\n{}\n", grouped(latents.size(0)),
             array(latents.size(1), latents.size(2)), args.output);
}

void encode_verb(EncodeArgs args) {
  if (!args.text && args.inputs.empty()) fail("give what to encode: files, or a text with --text");
  if (args.text && !args.inputs.empty()) {
    fail("got {} and --text; give only one of them", args.inputs[0]);
  }
  if (args.session.model.empty()) args.session.model = default_model(args);
  args.session.fingerprint = true;
  Session session(args.session);
  check_not_read(args.output, args.inputs, session.model);
  VerbHooks verb;
  LatentsFile file = encode(session.model, input_files(args, session.model), verb.hooks());
  file.model = args.session.model;  // by which `query` finds it again
  file.input = fmt::format("{}", fmt::join(args.inputs, ", "));
  write_latents(args.output, file);
  verb.clear();
  print(file, session.model, args);
}

}  // namespace

void add_encode_command(CLI::App& app) {
  auto args = std::make_shared<EncodeArgs>();
  CLI::App* command = add_command(
      app, "encode", "Write the latents of an input, to be queried as often as you like",
      "  perceiver encode a.png b.png -o flow.safetensors\n"
      "  perceiver encode clip.mp4 -m deepmind/multimodal-perceiver -o clip.safetensors\n"
      "  perceiver encode --text \"He told me that he [MASK] never been there.\" -o "
      "word.safetensors\n"
      "  perceiver query word.safetensors --words 6");
  command
      ->add_option("inputs", args->inputs,
                   "A picture, two frames, a clip, a file of text or of arrays, by the model's "
                   "task; '-' is the standard input")
      ->expected(0, 2);
  command->add_option("--text", args->text,
                      "A text to encode, instead of a file; [MASK] in it is a word that 'query "
                      "--words' can ask for");
  command->add_option("-o,--output", args->output, "Where to write the latents")
      ->capture_default_str();
  add_session_options(*command, args->session, "");
  command->get_option("--model")->required(false)->description(
      command->get_option("--model")->get_description() +
      "; default: the shipped one of the input's kind");
  command->add_flag("--json", args->json, "Print one JSON document");
  command->callback([args] { encode_verb(*args); });
}

}  // namespace perceiver
