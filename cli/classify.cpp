#include "perceiver/tasks/classify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/classify_tasks.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/verb_hooks.h"
#include "perceiver/core/error.h"
#include "perceiver/tasks/json.h"

namespace perceiver {
namespace {

struct ClassifyArgs {
  SessionOptions session;
  std::vector<std::string> inputs;
  ClassifyOptions options;
  bool json = false, jsonl = false, lines = false;
  std::vector<std::string> tasks;
  std::string pair;
};

void print(const Classified& result, const Model& model, const ClassifyArgs& args) {
  if (args.jsonl) {
    fmt::print("{}\n", json_text(with_origin(to_json(result), model)));
  } else if (!args.json) {
    fmt::print("{}\n", result.name);
    for (const RankedClass& one : result.top) {
      fmt::print("  {:5.1f} %  {}\n", 100.0 * one.probability, one.name);
    }
  }
  std::fflush(stdout);
}

void classify_verb(ClassifyArgs args) {
  Session session(args.session);
  if (!args.tasks.empty()) {
    return classify_tasks(session.model, {.inputs = args.inputs,
                                          .tasks = args.tasks,
                                          .pair = args.pair,
                                          .lines = args.lines,
                                          .json = args.json,
                                          .jsonl = args.jsonl});
  }
  VerbHooks verb;
  note(classes_text(session.model));
  if (!args.pair.empty()) args.options.pair = second_text(session.model, args.pair);
  if (args.inputs.empty()) args.inputs = {classify_sample(session.model).string()};
  const std::vector<ClassifySource> sources =
      classify_sources(session.model, args.inputs, {.lines = args.lines, .hooks = verb.hooks()});
  auto document = nlohmann::ordered_json::array();
  size_t unreadable = 0;
  args.options.hooks = verb.hooks();
  args.options.ready = [&](const Classified& result) {
    verb.clear();
    if (result.error.empty()) {
      print(result, session.model, args);
      if (args.json) document.push_back(with_origin(to_json(result), session.model));
      return;
    }
    ++unreadable;
    if (sources.size() == 1) fail("{}", result.error);
    fmt::print(stderr, "perceiver: {}\n", result.error);
  };
  classify(session.model, sources, args.options);
  if (args.json) fmt::print("{}\n", json_text(document, 2));
  if (unreadable > 0) fail("{} of {} inputs could not be read", unreadable, sources.size());
}

}  // namespace

void add_classify_command(CLI::App& app) {
  auto args = std::make_shared<ClassifyArgs>();
  CLI::App* command =
      add_command(app, "classify", "Say what is in pictures, clips, sounds or texts",
                  "  perceiver classify\n"
                  "  perceiver classify cat.jpg\n"
                  "  perceiver classify photos/ -m deepmind/vision-perceiver-conv --jsonl\n"
                  "  echo 'a fine film' | perceiver classify - --lines -m my-text-classifier\n"
                  "  perceiver classify --task sst2 \"a fine film\" -m runs/glue\n"
                  "  perceiver classify --task all \"It rains.\" --pair \"It is wet.\" -m "
                  "runs/glue");
  command->add_option(
      "inputs", args->inputs,
      "Files or folders of what the model reads: pictures, clips, sounds or texts, or a text "
      "itself; - is the standard input; default: a shipped sample");
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
  command->add_flag("--lines", args->lines, "Take each line of a file as a text of its own");
  command->add_flag("--json", args->json, "Print one JSON document");
  command->add_flag("--jsonl", args->jsonl, "Print a line of JSON for each input as it is ready");
  add_session_options(*command, args->session, "image-mini");
  command->callback([args] { classify_verb(*args); });
}

}  // namespace perceiver
