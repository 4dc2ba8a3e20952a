#include "perceiver/tasks/classify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>

#include "cli/checks.h"
#include "cli/classify_entities.h"
#include "cli/classify_tasks.h"
#include "cli/commands.h"
#include "cli/live.h"
#include "cli/ranks.h"
#include "cli/session.h"
#include "cli/shared_output.h"
#include "cli/verb_hooks.h"
#include "perceiver/core/error.h"
#include "perceiver/data/text_files.h"
#include "perceiver/tasks/given_inputs.h"
#include "perceiver/tasks/json.h"

namespace perceiver {
namespace {

struct ClassifyArgs {
  SessionOptions session;
  std::vector<std::string> inputs, tasks;
  ClassifyOptions options;
  bool json = false, jsonl = false, lines = false;
  std::string pair;
  RankArgs ranks;
  int64_t count = 0;  // of a stream's pictures; 0: all
};

std::string text_of(const Classified& result, const Model& model, const ClassifyArgs& args) {
  if (args.jsonl) return json_text(with_origin(to_json(result), model)) + "\n";
  if (args.json) return "";
  std::string text = result.name + "\n";
  for (const RankedClass& one : result.top) {
    text += fmt::format("  {:5.1f} %  {}\n", 100.0 * one.probability, one.name);
  }
  return text;
}

std::string default_model(const ClassifyArgs& args) {
  if (!args.inputs.empty() && is_json_lines(args.inputs[0])) return "entity-mini";
  const std::string model = shipped_model_for(args.inputs);
  return model == "sound-mini" ? model : "image-mini";
}

// This process's share of the work; null: all of it.
void classify_verb(ClassifyArgs args, Ranks* ranks) {
  if (args.session.model.empty()) args.session.model = default_model(args);
  Session session(args.session);
  if (!args.tasks.empty()) {
    if (ranks != nullptr)
      fail("--task asks of one text; several processes share files to classify");
    return classify_tasks(session.model,
                          {args.inputs, args.tasks, args.pair, args.lines, args.json, args.jsonl});
  }
  if (task_name(session.model) == "starcraft") {
    if (ranks != nullptr) fail("--ranks shares files; states of games are read by one process");
    return classify_entities(session.model, {args.inputs, args.options.top, args.json, args.jsonl});
  }
  VerbHooks verb;
  note(classes_text(session.model));
  if (is_live(args.inputs)) {
    return live_classify(session.model,
                         {args.inputs[0], args.options.top, args.count, args.json, args.jsonl});
  }
  if (!args.pair.empty()) args.options.pair = second_text(session.model, args.pair);
  if (args.inputs.empty()) args.inputs = {classify_sample(session.model).string()};
  const std::vector<ClassifySource> sources =
      classify_sources(session.model, args.inputs, {.lines = args.lines, .hooks = verb.hooks()});
  const auto count = static_cast<int64_t>(sources.size());
  const int64_t per_piece = inputs_per_piece(count, args.options.batch, ranks);
  const auto classify_piece = [&](int64_t piece, const Say& say) {
    const int64_t begin = piece * per_piece;
    if (begin >= count) return false;
    args.options.hooks = verb.hooks();
    args.options.ready = [&](const Classified& result) {
      if (!result.error.empty()) return say({.error = result.error});
      Said said{.out = text_of(result, session.model, args)};
      if (args.json) said.document = with_origin(to_json(result), session.model);
      say(said);
    };
    const auto some = std::span(sources).subspan(begin, std::min(per_piece, count - begin));
    classify(session.model, some, args.options);
    return true;
  };
  print_shared(ranks, {.inputs = count,
                       .called = "inputs",
                       .json = args.json,
                       .verb = verb,
                       .work = classify_piece});
}

}  // namespace

void add_classify_command(CLI::App& app) {
  auto args = std::make_shared<ClassifyArgs>();
  CLI::App* command =
      add_command(app, "classify", "Say what is in pictures, clips, sounds or texts",
                  "  perceiver classify\n"
                  "  perceiver classify cat.jpg\n"
                  "  perceiver classify photos/ -m deepmind/vision-perceiver-conv --jsonl\n"
                  "  perceiver classify photos/ --ranks 2\n"
                  "  perceiver classify /dev/video0\n"
                  "  perceiver classify samples/entities.jsonl\n"
                  "  echo 'a fine film' | perceiver classify - --lines -m my-text-classifier\n"
                  "  perceiver classify --task sst2 \"a fine film\" -m runs/glue\n"
                  "  perceiver classify --task all \"It rains.\" --pair \"It is wet.\" -m "
                  "runs/glue");
  command->add_option(
      "inputs", args->inputs,
      "Files or folders of what the model reads: pictures, clips, sounds or texts, or a text "
      "itself; - is the standard input; or a camera or stream (/dev/video0, rtsp://…), whose "
      "newest pictures are taken; default: a shipped sample");
  command
      ->add_option("--task", args->tasks,
                   "Ask a model of GLUE for these tasks, such as sst2,cola, or all, from one "
                   "encoding of the text (variant task_tokens: one a task)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--pair", args->pair,
                      "The second of two texts, or its file, for tasks and classes of pairs");
  command->add_option("-k,--top", args->options.top, "How many classes to show")
      ->capture_default_str()
      ->check(whole_number(1));
  command->add_option("--batch", args->options.batch, "How many files to classify at once")
      ->capture_default_str()
      ->check(whole_number(1));
  add_count_option(*command, args->count);
  command->add_flag("--lines", args->lines, "Take each line of a file as a text of its own");
  command->add_flag("--json", args->json, "Print one JSON document");
  command->add_flag("--jsonl", args->jsonl, "Print a line of JSON for each input as it is ready");
  add_session_options(*command, args->session, "");
  command->get_option("--model")->required(false)->description(
      command->get_option("--model")->get_description() +
      "; default: image-mini, of sounds sound-mini, of states of games entity-mini");
  add_rank_options(*command, args->ranks);
  command->callback([args] {
    SessionOptions& session = args->session;
    share_verb(args->ranks, args->inputs, {session.device, session.threads, session.quiet},
               [&](Ranks* ranks) { classify_verb(*args, ranks); });
  });
}

}  // namespace perceiver
