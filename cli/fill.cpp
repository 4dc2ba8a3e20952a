#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/fill_report.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"
#include "perceiver/zoo/tokenizer.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

struct FillArgs {
  SessionOptions session;
  std::optional<std::string> text;
  FillOptions fill;
  bool json = false, jsonl = false;
};

// A text to fill, and how messages call it.
struct NamedText {
  std::string name, text;
};

std::string sample() { return lines_of(read_file(shipped("samples/sentences.txt")).bytes).front(); }

// The argument; or each line of the standard input that is not empty. At a terminal, where nobody
// pipes anything, a sample.
std::vector<NamedText> texts_of(const FillArgs& args) {
  if (args.text && *args.text != "-") return {{"", *args.text}};
  if (!args.text && isatty(STDIN_FILENO) == 1) return {{"", sample()}};
  std::vector<NamedText> texts;
  std::istringstream lines(read_input("-").bytes);
  std::string text;
  for (int64_t line = 1; std::getline(lines, text); ++line) {
    if (text.ends_with('\r')) text.pop_back();
    if (!text.empty()) texts.push_back({fmt::format("standard input:{}: ", line), text});
  }
  if (texts.empty()) fail("standard input: no text; give one with [MASK] where a word is missing");
  return texts;
}

void check(const std::vector<NamedText>& texts, const WordTokens& tokens, const MaskedModel& model,
           const FillOptions& options) {
  for (const auto& [name, text] : texts) {
    try {
      check_masks(text, tokens, model, options);
    } catch (const Error& e) {
      fail("{}{}", name, e.what());
    }
  }
}

// The text is the user's and may hold bytes that are no UTF-8, which JSON cannot.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void fill_command(const FillArgs& args) {
  const std::vector<NamedText> texts = texts_of(args);
  Session session(args.session);
  auto& language = model_as<LanguageImpl>(session.model, "fill", "language");
  const WordTokens tokens =
      word_tokens(find_tokenizer(session.model, language.config().vocabulary_size));
  const MaskedModel model = masked_model(language);
  check(texts, tokens, model, args.fill);

  int64_t passes = 0;
  for (const NamedText& text : texts) passes += num_passes(text.text, tokens, args.fill);
  PassProgress progress("filling", attention_work(language.summary()) * passes);
  Json document = Json::array();
  for (size_t i = 0; i < texts.size(); ++i) {
    const FilledText filled = fill(texts[i].text, tokens, model, args.fill);
    progress.clear();
    if (args.json) {
      document.push_back(filled_json(texts[i].text, filled));
    } else if (args.jsonl) {
      fmt::print("{}\n", dump(filled_json(texts[i].text, filled), -1));
    } else {
      if (i > 0) fmt::print("\n");
      print_filled(filled, tokens);
    }
    std::fflush(stdout);
  }
  if (args.json) fmt::print("{}\n", dump(document, 2));
}

}  // namespace

void add_fill_command(CLI::App& app) {
  auto args = std::make_shared<FillArgs>();
  CLI::App* command = add_command(
      app, "fill", "Fill in missing words of a text",
      "  perceiver fill \"Paris is the [MASK] of France.\"\n"
      "  perceiver fill \"The [MASK] chased the [MASK].\" -k 3 -m deepmind/language-perceiver\n"
      "  perceiver fill \"It tastes [MASK].\" --bytes 5 --json\n"
      "  perceiver fill --jsonl < sentences.txt");
  command->add_option("text", args->text,
                      "A text with [MASK] where a word is missing; '-' or nothing: each line of "
                      "the standard input is one");
  add_session_options(*command, args->session, "language-mini");
  command->add_option("-k,--top", args->fill.top, "Words shown for each [MASK]")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--bytes", args->fill.num_bytes,
                   "The length of each word in bytes, a comma at its end counted; default: 1 to 16 "
                   "are tried, the space before the word counted")
      ->check(CLI::PositiveNumber);
  auto* json = command->add_flag("--json", args->json, "One JSON document");
  command->add_flag("--jsonl", args->jsonl, "A line of JSON for each text, as it is ready")
      ->excludes(json);
  command->callback([args] { fill_command(*args); });
}

}  // namespace perceiver
