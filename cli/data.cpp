#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/commands.h"
#include "perceiver/data/sentencepiece.h"

namespace perceiver {

void add_data_command(CLI::App& app) {
  CLI::App* command = add_command(
      app, "data",
      "Make data for training: pairs of frames with exact flow, or a tokenizer of texts",
      "  perceiver data flow -o pairs --count 1000\n"
      "  perceiver data sentencepiece texts/ more.jsonl -o spiece.model --vocabulary 32000");
  command->require_subcommand(1);
  add_data_flow_command(*command);

  struct Args {
    std::vector<std::string> texts;
    std::string output;
    int64_t vocabulary = 32'000;
  };
  auto args = std::make_shared<Args>();
  CLI::App* pieces = add_command(
      *command, "sentencepiece", "Make a SentencePiece tokenizer of texts",
      "  perceiver data sentencepiece texts/ more.jsonl -o spiece.model --vocabulary 32000");
  pieces
      ->add_option("texts", args->texts,
                   "Files and folders of .txt, .jsonl and .json, plain or .gz")
      ->required();
  pieces->add_option("-o,--output", args->output, "Where to write the model")->required();
  pieces->add_option("--vocabulary", args->vocabulary, "How many pieces the model is to have")
      ->capture_default_str()
      ->check(whole_number(1));
  pieces->callback([args] {
    train_sentencepiece(args->texts, args->output, args->vocabulary);
    fmt::print("{}\n", args->output);
  });
}

}  // namespace perceiver
