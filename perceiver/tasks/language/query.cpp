#include "perceiver/tasks/language/query.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/core/text.h"
#include "perceiver/tasks/language/latents.h"
#include "perceiver/tasks/language/words.h"
#include "perceiver/tasks/selection.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kImpossible = -1e9;  // the log-probability of a byte where another stands

// What a word is made of, and how JSON and the table call it.
struct Units {
  const Tokenizer& tokenizer;
  bool are_bytes = is_of_bytes(tokenizer);
  const char* one = are_bytes ? "byte" : "piece";
  const char* several = are_bytes ? "bytes" : "pieces";
};

// "a", "\xC3", "[MASK]" as hardly anything else: "<3>". Pieces are as SentencePiece writes them.
std::string unit_name(const Units& units, int64_t id) {
  if (const auto* pieces = std::get_if<SentencePieceTokenizer>(&units.tokenizer)) {
    return id < pieces->vocabulary_size() ? pieces->piece(id) : fmt::format("<{}>", id);
  }
  const int64_t byte = id - ByteTokenizer::kNumSpecial;
  if (byte < 0) return fmt::format("<{}>", id);
  if (byte > ' ' && byte < 0x7F) return std::string(1, static_cast<char>(byte));
  return byte == ' ' ? "' '" : fmt::format("\\x{:02X}", byte);
}

// The likeliest bytes or pieces of a place.
std::vector<std::pair<std::string, double>> likeliest_units(const Units& units,
                                                            const Tensor& log_probabilities,
                                                            int64_t top) {
  std::vector<std::pair<std::string, double>> best;
  const auto [values, ids] = log_probabilities.exp().topk(std::min(top, log_probabilities.size(0)));
  for (int64_t i = 0; i < ids.size(0); ++i) {
    best.emplace_back(unit_name(units, ids[i].item<int64_t>()), values[i].item<double>());
  }
  return best;
}

// The likeliest letters for those that a word misses; what stands between them is known.
std::vector<Word> candidates(const Units& units, const PlacedWord& word,
                             const Tensor& log_probabilities, int64_t top) {
  const int64_t mask = special_ids(units.tokenizer).mask;
  const auto masked = [&](int64_t id) { return id == mask; };
  const auto begin = std::ranges::find_if(word.ids, masked);
  const auto end = std::find_if(word.ids.rbegin(), word.ids.rend(), masked).base();
  const Tensor rows =
      log_probabilities.slice(0, begin - word.ids.begin(), end - word.ids.begin()).clone();
  for (auto id = begin; id != end; ++id) {
    if (masked(*id)) continue;
    Tensor row = rows[id - begin];
    row.fill_(kImpossible);
    row[*id] = 0.0;
  }
  // The space before a word of bytes is none of its bytes; its first piece has it.
  const bool after_space = !units.are_bytes && begin == word.ids.begin();
  return likeliest_words(rows, word_tokens(units.tokenizer), after_space, top);
}

// What is asked of one word, as JSON and as rows of the two tables: of words that are there, and of
// those that are missing.
class WordAnswers {
 public:
  WordAnswers(const Tokenizer& tokenizer, int64_t top) : units_{tokenizer}, top_(top) {}

  // log_probabilities [tokens of the word, vocabulary]
  void add(int64_t number, const PlacedWord& word, const Tensor& log_probabilities) {
    json_.push_back({{"number", number}, {"word", word.text}});
    const std::string name = fmt::format("{} {}", number, word.text);
    word.is_missing ? add_missing(name, word, log_probabilities)
                    : add_known(name, word, log_probabilities);
  }

  Json json() const { return {{"words", json_}}; }

  std::string text() const {
    std::string text;
    if (missing_.size() > 1) text += table(missing_);
    if (missing_.size() > 1 && known_.size() > 1) text += "\n";
    if (known_.size() > 1) text += table(known_);
    return text;
  }

 private:
  void add_missing(const std::string& name, const PlacedWord& word,
                   const Tensor& log_probabilities) {
    Json found = Json::array();
    for (const Word& one : candidates(units_, word, log_probabilities, top_)) {
      const double probability = std::exp(one.log_probability);
      missing_.push_back({found.empty() ? name : "", one.text, fmt::format("{:.3g}", probability)});
      found.push_back({{"word", one.text}, {"probability", probability}});
    }
    json_.back()["candidates"] = std::move(found);
  }

  void add_known(const std::string& name, const PlacedWord& word, const Tensor& log_probabilities) {
    Json all = Json::array();
    double sum = 0.0;
    for (size_t i = 0; i < word.ids.size(); ++i) {
      const Tensor row = log_probabilities[static_cast<int64_t>(i)];
      const double log_probability = row[word.ids[i]].item<double>();
      Json top = Json::array();
      std::vector<std::string> likeliest;
      for (const auto& [unit, probability] : likeliest_units(units_, row, top_)) {
        top.push_back({{units_.one, unit}, {"probability", probability}});
        likeliest.push_back(fmt::format("{} {:.3f}", unit, probability));
      }
      known_.push_back({i == 0 ? name : "", unit_name(units_, word.ids[i]),
                        fmt::format("{:.3f}", log_probability),
                        fmt::format("{}", fmt::join(likeliest, "  "))});
      all.push_back({{units_.one, unit_name(units_, word.ids[i])},
                     {"log_probability", log_probability},
                     {"top", std::move(top)}});
      sum += log_probability;
    }
    json_.back()["mean_log_probability"] = sum / static_cast<double>(word.ids.size());
    json_.back()[units_.several] = std::move(all);
  }

  Units units_;
  int64_t top_;
  Json json_ = Json::array();
  std::vector<std::vector<std::string>> missing_ = {{"word", "candidate", "probability"}};
  std::vector<std::vector<std::string>> known_ = {
      {"word", units_.one, "log-probability", fmt::format("likeliest {}", units_.several)}};
};

int64_t num_ids(const Tokenizer& tokenizer) {
  return std::visit([](const auto& t) { return t.vocabulary_size(); }, tokenizer);
}

Tensor ids_of(LanguageImpl& model, const Tokenizer& tokenizer, const LatentsFile& file) {
  const int64_t rows = file.latents().size(0);
  const Tensor ids = required_array(file, "ids", at::kInt, {rows, kAny});
  if (ids.size(1) > model.config().num_inputs || ids.lt(0).any().item<bool>() ||
      ids.ge(num_ids(tokenizer)).any().item<bool>()) {
    fail("{}: 'ids' are not those of a text of at most {} {} a row", file.name,
         model.config().num_inputs, Units{tokenizer}.several);
  }
  return ids;
}

}  // namespace

Answer answer_words(LanguageImpl& model, const Tokenizer& tokenizer, const LatentsFile& file,
                    const Query& query) {
  const std::vector<PlacedWord> words = words_of(ids_of(model, tokenizer, file), tokenizer);
  const auto count = std::ssize(words);
  if (count == 0) fail("{}: its text has no words", file.name);
  const std::vector<int64_t> asked = parse_numbers(
      query.words.empty() ? fmt::format("1-{}", count) : query.words, count, "--words", "words");
  std::vector<TokenAt> places;
  for (const int64_t i : asked) {
    places.insert(places.end(), words[i].places.begin(), words[i].places.end());
  }
  const Tensor log_probabilities = log_probabilities_at(model, file.latents(), places);
  WordAnswers answers(tokenizer, query.top);
  int64_t place = 0;
  for (const int64_t i : asked) {
    const auto size = std::ssize(words[i].ids);
    answers.add(i + 1, words[i], log_probabilities.narrow(0, place, size));
    place += size;
  }
  return {.json = answers.json(),
          .text = answers.text(),
          .arrays = {{"log_probabilities", log_probabilities}}};
}

}  // namespace perceiver
