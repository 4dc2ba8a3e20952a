#include "cli/fill_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/checks.h"

namespace perceiver {

void add_fill_options(CLI::App& command, FillArgs& args) {
  command.add_option("text", args.text,
                     "A text with [MASK] (or <mask>) where a word is missing; a file with a text "
                     "on each line; '-' or nothing: the same from the standard input. Lines are "
                     "answered as they come. Nothing, at a terminal: a sample");
  add_session_options(command, args.session, "language-mini");
  command.add_option("-k,--top", args.fill.top, "How many words to show for each [MASK]")
      ->capture_default_str()
      ->check(whole_number(1, 1000));
  command
      .add_option("--bytes", args.fill.num_bytes,
                  "The length of each word in bytes, a comma at its end counted; default: 1 to 16 "
                  "are tried, the space before the word counted")
      ->check(whole_number(1));
  const auto take_order = [&args](const std::string& word) {
    const auto words = enum_words(FillOrder{});
    args.fill.order = static_cast<FillOrder>(std::ranges::find(words, word) - words.begin());
  };
  command
      .add_option_function<std::string>(
          "--order", take_order,
          "How the letters of a word are told: each from the text alone, or one after another from "
          "those that are known, which models have to be trained for; default: the model's own, "
          "at_once for released ones")
      ->check(one_of(enum_words(FillOrder{})));
  CLI::Option* json = command.add_flag("--json", args.json, "Print one JSON document");
  command.add_flag("--jsonl", args.jsonl, "Print a line of JSON for each text, as it is ready")
      ->excludes(json);
}

}  // namespace perceiver
