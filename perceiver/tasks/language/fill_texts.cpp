#include "perceiver/tasks/language/fill_texts.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <istream>

#include "perceiver/core/text.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNear = 200;  // bytes of a text that are shown on each side of a word

Json word_json(const Word& word) {
  return {{"word", word.text}, {"probability", probability(word)}};
}

// A language model with all that filling takes.
class Filler {
 public:
  Filler(Model& model, const FillOptions& options)
      : language_(model_as<LanguageImpl>(model, "fill", "language")),
        tokens_(word_tokens(application_of(model).tokenizer()->get())),
        masked_(masked_model(language_)),
        options_(options) {
    const std::filesystem::path list = model.folder / "words.txt";
    if (tokens_.are_bytes && std::filesystem::exists(list))
      tokens_.known = WordList(read_file(list));
    check_options(options_, tokens_, masked_);
  }

  FilledText operator()(const std::string& text, const Hooks& hooks = {}) const {
    const auto passes = static_cast<double>(num_passes(text, tokens_, options_, masked_.order));
    hooks.begin("filling", attention_work(language_.summary()) * passes);
    return perceiver::fill(text, tokens_, masked_, options_);
  }

 private:
  LanguageImpl& language_;
  WordTokens tokens_;
  MaskedModel masked_;
  FillOptions options_;
};

// Where a character begins, at `at` or shortly after it.
size_t character_from(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;
  return at;
}

// What stands between two words; nearest to those that there are, where it is long.
std::string shown_between(std::string_view text, bool word_before, bool word_after) {
  const size_t before = word_before ? kNear : 0, after = word_after ? kNear : 0;
  if (text.size() <= before + after) return std::string(text);
  const size_t end = character_from(text, before),
               begin = character_from(text, text.size() - after);
  return fmt::format("{}…{}", text.substr(0, end), text.substr(begin));
}

}  // namespace

FilledText fill(Model& model, const std::string& text, const FillOptions& options) {
  const at::NoGradGuard no_grad;
  return Filler(model, options)(text);
}

TextSource lines_from(std::istream& stream, const std::string& name) {
  return [&stream, name, number = int64_t{0}]() mutable -> std::optional<NamedText> {
    for (std::string line; std::getline(stream, line);) {
      ++number;
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) return NamedText{fmt::format("{}:{}: ", name, number), line};
    }
    return {};
  };
}

FillCounts fill(Model& model, const TextSource& next, const FillOptions& options,
                const FillCallbacks& callbacks) {
  const at::NoGradGuard no_grad;
  const Filler filler(model, options);
  FillCounts counts;
  while (const std::optional<NamedText> text = next()) {
    ++counts.texts;
    std::optional<FilledText> filled;
    try {
      filled = filler(text->text, callbacks.hooks);
    } catch (const Error& e) {
      ++counts.failed;
      if (callbacks.failed) callbacks.failed(text->name + e.what());
    }
    if (filled && callbacks.ready) callbacks.ready(*text, *filled);
  }
  return counts;
}

double probability(const Word& word) { return std::exp(word.log_probability); }

Json filled_json(const std::string& text, const FilledText& filled) {
  Json masks = Json::array();
  for (const FilledMask& mask : filled.masks) {
    Json item = word_json(mask.words.front());
    item["step"] = mask.step;
    item["candidates"] = Json::array();
    for (const Word& word : mask.words) item["candidates"].push_back(word_json(word));
    masks.push_back(std::move(item));
  }
  return {{"text", text}, {"filled", filled.text}, {"masks", std::move(masks)}};
}

std::string filled_table(const FilledText& filled) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < filled.masks.size(); ++i) {
    const FilledMask& mask = filled.masks[i];
    if (filled.masks.size() == 1) {
      rows.push_back({"word", "probability"});
    } else {
      rows.push_back({fmt::format("[MASK] {}, filled as no. {}", i + 1, mask.step), "probability"});
    }
    for (const Word& word : mask.words) {
      rows.push_back({word.text, fmt::format("{:.3g}", probability(word))});
    }
  }
  return table(rows);
}

std::vector<TextPiece> shown_pieces(const FilledText& filled) {
  std::vector<TextPiece> pieces;
  size_t begin = 0;
  const std::string_view text = filled.text;
  for (const FilledMask& mask : filled.masks) {
    pieces.push_back(
        {shown_between(text.substr(begin, mask.begin - begin), begin > 0, true), false});
    pieces.push_back({mask.words.front().text, true});
    begin = mask.begin + mask.words.front().text.size();
  }
  pieces.push_back({shown_between(text.substr(begin), true, false), false});
  return pieces;
}

}  // namespace perceiver
