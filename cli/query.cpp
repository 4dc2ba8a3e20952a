#include "perceiver/tasks/query.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/verb_hooks.h"
#include "perceiver/tasks/json.h"

namespace perceiver {
namespace {

struct QueryArgs {
  SessionOptions session;
  std::string file, output;
  Query query;
  bool json = false;
};

void query_verb(QueryArgs args) {
  const LatentsFile file = read_latents(args.file);
  if (args.session.model.empty()) args.session.model = file.model;
  args.session.fingerprint = true;
  Session session(args.session);
  check_not_read(args.output, {args.file}, session.model);
  VerbHooks verb;
  args.query.hooks = verb.hooks();
  const Answer answer = query(session.model, file, args.query);
  verb.clear();
  if (!args.output.empty()) write_answer(answer, args.output);
  if (args.json) {
    nlohmann::ordered_json document = {{"output", args.output}};
    if (args.output.empty()) document = full_json(answer);
    fmt::print("{}\n", json_text(with_origin(document, session.model), 2));
  } else {
    fmt::print("{}", args.output.empty() ? answer.text : args.output + "\n");
  }
}

}  // namespace

void add_query_command(CLI::App& app) {
  auto args = std::make_shared<QueryArgs>();
  CLI::App* command = add_command(
      app, "query", "Ask latents for any outputs: pixels, seconds, words, tasks, the label",
      "  perceiver query flow.safetensors --pixels 10,20 300,40\n"
      "  perceiver query flow.safetensors --box 0,0,128,96 -o corner.flo\n"
      "  perceiver query clip.safetensors --frames 3,5-7 -o frames.png\n"
      "  perceiver query clip.safetensors --seconds 0.1-0.4 -o sound.wav\n"
      "  perceiver query word.safetensors --words 6");
  command->add_option("file", args->file, "The latents that 'perceiver encode' wrote")->required();
  command->add_option("--pixels", args->query.pixels, "These pixels, each as x,y counted from 0");
  command->add_option("--box", args->query.box,
                      "The pixels from x0,y0 up to x1,y1, these two not included");
  command->add_option("--frames", args->query.frames,
                      "These frames of a clip, such as 3,5-7, counted from 1");
  command->add_option("--seconds", args->query.seconds,
                      "The sound of a clip between two times, such as 0.1-0.4");
  command->add_option(
      "--words", args->query.words,
      "These words of a text, such as 2,5-7, counted from 1; of a [MASK], the words "
      "that fit");
  command
      ->add_option("--tasks", args->query.tasks,
                   "Answers for these tasks of GLUE, such as cola,sst2")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--label", args->query.label, "The label of a clip");
  command->add_option("--at", args->query.at,
                      "A model of your own arrays: a file (.npz, …) with the places to ask at, by "
                      "the names of their arrays; default: those of the encoded file");
  command
      ->add_option("-k,--top", args->query.top,
                   "How many classes, words for each [MASK], or bytes of each place, to show")
      ->capture_default_str()
      ->check(whole_number(1, 1000));
  command->add_option(
      "-o,--output", args->output,
      "Where to write; by its ending .png for pixels, .flo for flow, .wav for sound, "
      ".safetensors or .npz for anything");
  add_session_options(*command, args->session, "");
  command->get_option("--model")->required(false)->description(
      command->get_option("--model")->get_description() + "; default: the one the file names");
  command->add_flag("--json", args->json, "Print one JSON document");
  command->callback([args] { query_verb(*args); });
}

}  // namespace perceiver
