#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/commands.h"
#include "cli/fill_options.h"
#include "cli/format.h"
#include "cli/verb_hooks.h"
#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"
#include "perceiver/tasks/json.h"

namespace perceiver {
namespace {

std::string sample() { return lines_of(read_file(shipped("samples/sentences.txt")).bytes).front(); }

// Of the argument, a file or the standard input; at a terminal, where nobody pipes, a sample.
struct Texts {
  std::string only = {};  // the one text there is; empty: those of a stream
  std::unique_ptr<std::ifstream> file = {};
  std::string name = "standard input";

  std::istream& stream() { return file ? *file : std::cin; }
};

Texts texts_of(const FillArgs& args) {
  if (!args.more.empty()) {
    fail("got {} words, expected one text; put it in quotes: perceiver fill \"{} {}\"",
         args.more.size() + 1, *args.text, fmt::join(args.more, " "));
  }
  if (!args.text && isatty(STDIN_FILENO) == 1) return {.only = sample()};
  if (!args.text || *args.text == "-") return {};
  const std::string& text = *args.text;
  if (text.empty()) fail("the text is empty; write [MASK] where a word is missing");
  std::error_code too_long_for_a_name;
  if (!std::filesystem::is_regular_file(text, too_long_for_a_name)) return {.only = text};
  Texts texts{.file = std::make_unique<std::ifstream>(text), .name = text};
  if (!*texts.file) fail("{}: cannot open", text);
  return texts;
}

// The words that were filled in are bold where the output is a terminal.
std::string highlighted(const FilledText& filled) {
  std::string text;
  for (const auto& [piece, is_word] : shown_pieces(filled)) {
    text += is_word && colours_wanted() ? "\033[1m" + piece + "\033[0m" : piece;
  }
  return text;
}

class Printer {
 public:
  Printer(const FillArgs& args, const Model& model) : args_(args), model_(model) {}

  void print(const std::string& text, const FilledText& filled) {
    if (args_.json) {
      document_.push_back(with_origin(filled_json(text, filled), model_));
    } else if (args_.jsonl) {
      fmt::print("{}\n", json_text(with_origin(filled_json(text, filled), model_)));
    } else {
      fmt::print("{}{}\n\n{}", first_ ? "" : "\n", highlighted(filled), filled_table(filled));
    }
    first_ = false;
    std::fflush(stdout);
  }

  std::string document() const { return args_.json ? json_text(document_, 2) + "\n" : ""; }

 private:
  const FillArgs& args_;
  const Model& model_;
  bool first_ = true;
  nlohmann::ordered_json document_ = nlohmann::ordered_json::array();
};

void fill_verb(const FillArgs& args) {
  Texts texts = texts_of(args);
  Session session(args.session);
  VerbHooks verb;
  Printer printer(args, session.model);
  if (!texts.only.empty()) {
    printer.print(texts.only, fill(session.model, texts.only, args.fill));
    return fmt::print("{}", printer.document());
  }
  const auto answer = [&](const NamedText& text, const FilledText& filled) {
    verb.clear();
    printer.print(text.text, filled);
  };
  const auto complain = [&](const std::string& error) {
    verb.clear();
    fmt::print(stderr, "perceiver: {}\n", error);
  };
  const auto [texts_read, failed] =
      fill(session.model, lines_from(texts.stream(), texts.name), args.fill,
           {.hooks = verb.hooks(), .ready = answer, .failed = complain});
  if (texts_read == 0) fail("{}: no text; give one with [MASK] for a missing word", texts.name);
  fmt::print("{}", printer.document());
  if (failed > 0) fail("{} of {} texts could not be filled", failed, texts_read);
}

}  // namespace

void add_fill_command(CLI::App& app) {
  auto args = std::make_shared<FillArgs>();
  CLI::App* command =
      add_command(app, "fill", "Fill in missing words of a text",
                  "  perceiver fill \"He told me that he [MASK] never been in London before.\"\n"
                  "  perceiver fill \"She [MASK] not want to go home, and he did not [MASK] what "
                  "to say.\" -k 3\n"
                  "  perceiver fill \"I do not [MASK] what you mean.\" --bytes 4 --json\n"
                  "  perceiver fill sentences.txt --jsonl\n"
                  "  perceiver fill --jsonl < sentences.txt");
  add_fill_options(*command, *args);
  command->allow_extras()->callback([args, command] {
    args->more = command->remaining();
    fill_verb(*args);
  });
}

}  // namespace perceiver
