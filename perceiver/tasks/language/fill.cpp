#include "perceiver/tasks/language/fill.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/modalities/text_file.h"
#include "perceiver/tasks/language/letters.h"
#include "perceiver/tasks/language/masks.h"

namespace perceiver {
namespace {

// The letters of a word depend on each other, and the model tells each on its own: their product
// understates a word that there is, by about so much a letter. Of 640 held-out sentences, 0.3 to
// 0.5 gave the most right words.
constexpr double kDependence = 0.3;

// A byte model was trained with the space itself masked; for pieces any space will do, and the
// beginning of the text counts as one.
bool is_after_space(const std::string& run, const WordTokens& tokens) {
  if (tokens.are_bytes) return run.ends_with(' ');
  return run.empty() || run.find_last_of(" \t\n") == run.size() - 1;
}

bool is_no_letter(char byte) {
  const auto b = static_cast<unsigned char>(byte);
  return b < 0x80 && !std::isalnum(b);
}

bool is_glued(const std::string& run) { return !run.empty() && !std::isspace(run.front() & 0xFF); }

// Whether bytes that end one run and begin the next leave room for a whole word between them.
bool ends_word(const std::string& run) {
  return run.empty() || (run.back() != '-' && run.back() != '\'' && is_no_letter(run.back()));
}
bool begins_after_word(const std::string& run) {
  return run.empty() || (run.front() != '-' && is_no_letter(run.front()));
}

// A text, some of whose words are known by now: run, mask, run, mask … run.
struct OpenText {
  std::vector<std::string> runs;
  std::vector<size_t> masks;  // which of the original ones
};

// What the model reads before and after the word that is looked for.
struct Surroundings {
  Ids before, after;
};

void append(Ids& ids, const Ids& more) { ids.insert(ids.end(), more.begin(), more.end()); }

Ids encode_run(const OpenText& text, size_t run, const WordTokens& tokens) {
  std::string_view plain = text.runs[run];
  const bool before_mask = run + 1 < text.runs.size();
  if (tokens.are_bytes && before_mask && plain.ends_with(' ')) plain.remove_suffix(1);
  return tokens.encode(plain, run > 0 && is_glued(text.runs[run]));
}

Surroundings surroundings(const OpenText& text, size_t mask, const WordTokens& tokens) {
  const Ids unknown(tokens.typical, tokens.special.mask);
  Surroundings around;
  for (size_t run = 0; run <= mask; ++run) {
    if (run > 0) append(around.before, unknown);
    append(around.before, encode_run(text, run, tokens));
  }
  for (size_t run = mask + 1; run < text.runs.size(); ++run) {
    if (run > mask + 1) append(around.after, unknown);
    append(around.after, encode_run(text, run, tokens));
  }
  return around;
}

// The nearest `room` tokens, half on each side or more where the other side is short.
Surroundings nearest_tokens(const Surroundings& around, int64_t room, const WordTokens& tokens) {
  const auto num_before = std::ssize(around.before), num_after = std::ssize(around.after);
  auto begin = num_before - std::min(num_before, std::max(room / 2, room - num_after));
  auto end = std::min(num_after, room - (num_before - begin));
  while (begin < num_before && begin > 0 && !tokens.begins_character(around.before[begin])) ++begin;
  while (end > 0 && end < num_after && !tokens.begins_character(around.after[end])) --end;
  return {Ids(around.before.begin() + begin, around.before.end()),
          Ids(around.after.begin(), around.after.begin() + end)};
}

// Lengths of span that are tried, in tokens.
std::vector<int64_t> span_lengths(const WordTokens& tokens, const FillOptions& options,
                                  bool after_space, int64_t num_inputs) {
  const int64_t space = tokens.are_bytes && after_space ? 1 : 0;
  if (options.num_bytes) return {*options.num_bytes + space};
  std::vector<int64_t> lengths;
  for (int64_t length = 1 + space; length <= std::min(tokens.longest, num_inputs); ++length) {
    lengths.push_back(length);
  }
  return lengths;
}

// What the model says of a span of each length: log-probabilities [lengths, longest, vocabulary].
Tensor ask(const Surroundings& around, const std::vector<int64_t>& lengths,
           const WordTokens& tokens, const MaskedModel& model) {
  const auto begin = static_cast<int64_t>(around.before.size());
  std::vector<Ids> texts;
  for (const int64_t length : lengths) {
    Ids ids = around.before;
    ids.insert(ids.end(), length, tokens.special.mask);
    append(ids, around.after);
    texts.push_back(std::move(ids));
  }
  const auto longest = static_cast<int64_t>(texts.back().size());
  const Tensor length = at::tensor(lengths).unsqueeze(1);
  // A shorter span asks for its last position again.
  const Tensor positions =
      begin + at::arange(lengths.back()).unsqueeze(0).minimum(length - 1);  // [B, O]
  return model.log_probabilities(pad_or_crop(texts, longest, tokens.special.pad), positions);
}

// The best `top` words of all, each once: pieces may spell a word in more than one way.
std::vector<Word> best_words(std::vector<Word> words, int64_t top) {
  std::ranges::stable_sort(words, std::greater(), &Word::log_probability);
  std::vector<Word> best;
  for (Word& word : words) {
    if (std::ssize(best) == top) break;
    if (std::ranges::find(best, word.text, &Word::text) == best.end()) {
      best.push_back(std::move(word));
    }
  }
  return best;
}

// As shares of the probability of all of them.
void normalise(std::vector<Word>& words) {
  double sum = 0.0;
  for (const Word& word : words) sum += std::exp(word.log_probability);
  for (Word& word : words) word.log_probability -= std::log(sum);
}

// Each letter told from the text alone.
std::vector<Word> words_at_once(const MissingWord& missing, const WordTokens& tokens,
                                const MaskedModel& model) {
  const Tensor log_probabilities =
      ask({missing.before, missing.after}, missing.lengths, tokens, model);
  const int64_t space = tokens.are_bytes && missing.after_space ? 1 : 0;
  std::vector<Word> words;
  for (size_t i = 0; i < missing.lengths.size(); ++i) {
    const int64_t length = missing.lengths[i];
    const Tensor rows = log_probabilities[static_cast<int64_t>(i)].narrow(0, 0, length);
    double prior = missing.log_shares[i];
    if (missing.known_only) prior += kDependence * static_cast<double>(length - space);
    for (Word& word : missing.known_only ? tokens.known.scored(rows.slice(0, space))
                                         : likeliest_words(rows, tokens, missing.after_space,
                                                           missing.top, missing.any_marks)) {
      word.log_probability += prior;
      words.push_back(std::move(word));
    }
  }
  if (missing.known_only) normalise(words);
  return best_words(std::move(words), missing.top);
}

std::vector<Word> words_for(const OpenText& text, size_t mask, const WordTokens& tokens,
                            const MaskedModel& model, const FillOptions& options) {
  const bool after_space = is_after_space(text.runs[mask], tokens);
  const auto lengths = span_lengths(tokens, options, after_space, model.num_inputs);
  const Surroundings around =
      nearest_tokens(surroundings(text, mask, tokens), model.num_inputs - lengths.back(), tokens);
  const int64_t space = tokens.are_bytes && after_space ? 1 : 0;
  std::vector<double> log_shares;
  for (const int64_t length : lengths) {
    log_shares.push_back(options.num_bytes ? 0.0 : log_share_of_length(tokens, length - space));
  }
  const MissingWord missing{.before = around.before,
                            .after = around.after,
                            .lengths = lengths,
                            .log_shares = log_shares,
                            .after_space = after_space,
                            // Who says how many bytes a word has counts the comma after it too.
                            .any_marks = options.num_bytes.has_value(),
                            .known_only = !tokens.known.empty() && !options.num_bytes &&
                                          ends_word(text.runs[mask]) &&
                                          begins_after_word(text.runs[mask + 1]),
                            .top = options.top};
  const FillOrder order = options.order.value_or(model.order);
  std::vector<Word> words = order == FillOrder::kAtOnce
                                ? words_at_once(missing, tokens, model)
                                : words_by_letters(missing, tokens, model, order);
  if (words.empty()) fail("no word that the model knows fits [MASK] {}", text.masks[mask] + 1);
  return words;
}

void check_masks(std::string_view text, int64_t num_masks, const WordTokens& tokens,
                 const MaskedModel& model) {
  if (text.empty()) fail("the text is empty; write [MASK] where a word is missing");
  if (num_masks == 0) fail("the text has no [MASK]; write it where a word is missing");
  const int64_t most = std::max<int64_t>(model.num_inputs / tokens.typical, 1);
  if (num_masks > most) {
    fail("the text has {} [MASK]s, at most {} fit the model's {} {}; split it", num_masks, most,
         model.num_inputs, tokens.are_bytes ? "bytes" : "tokens");
  }
}

void put_in_place(OpenText& text, size_t mask, const std::string& word) {
  text.runs[mask] += word + text.runs[mask + 1];
  text.runs.erase(text.runs.begin() + mask + 1);
  text.masks.erase(text.masks.begin() + mask);
}

}  // namespace

MaskedModel masked_model(LanguageImpl& model) {
  return {model.config().num_inputs,
          [&](const TokenBatch& texts, const Tensor& positions) {
            const at::NoGradGuard no_grad;
            const at::Device device = model.parameters().front().device();
            const Tensor latents = model.encode(texts.ids, texts.mask.to(device));
            const Tensor logits = model.decode(latents, positions);
            return logits.to(at::kFloat).log_softmax(-1).cpu();
          },
          model.config().fill_order};
}

void check_options(const FillOptions& options, const WordTokens& tokens, const MaskedModel& model) {
  if (!options.num_bytes) return;
  if (!tokens.are_bytes) fail("--bytes: this model's words are made of pieces, not of bytes");
  if (*options.num_bytes >= model.num_inputs) {
    fail("--bytes {}: the model reads {} bytes at once, a word must be shorter", *options.num_bytes,
         model.num_inputs);
  }
}

FilledText fill(std::string_view text, const WordTokens& tokens, const MaskedModel& model,
                const FillOptions& options) {
  const std::vector<std::string_view> split = split_at_masks(text);
  const std::vector<std::string> runs(split.begin(), split.end());
  check_masks(text, std::ssize(runs) - 1, tokens, model);
  check_options(options, tokens, model);
  OpenText open{runs, {}};
  std::vector<FilledMask> masks(runs.size() - 1);
  for (size_t i = 0; i < masks.size(); ++i) open.masks.push_back(i);
  for (int64_t step = 1; !open.masks.empty(); ++step) {
    std::vector<std::vector<Word>> found;
    for (size_t i = 0; i < open.masks.size(); ++i) {
      found.push_back(words_for(open, i, tokens, model, options));
    }
    const auto surest = std::ranges::max_element(
        found, {}, [](const std::vector<Word>& words) { return words.front().log_probability; });
    const size_t mask = surest - found.begin();
    masks[open.masks[mask]] = {*surest, 0, step};
    put_in_place(open, mask, surest->front().text);
  }
  FilledText filled{runs.front(), std::move(masks)};
  for (size_t i = 0; i < filled.masks.size(); ++i) {
    filled.masks[i].begin = filled.text.size();
    filled.text += filled.masks[i].words.front().text + runs[i + 1];
  }
  return filled;
}

std::vector<int64_t> lengths_of_missing_words(LanguageImpl& model, const Tokenizer& tokenizer,
                                              std::span<const File> files) {
  std::vector<int64_t> lengths;
  if (files.size() != 1 || split_at_masks(files[0].bytes).size() == 1) return lengths;
  const WordTokens tokens = word_tokens(tokenizer);
  const FilledText filled = fill(text_in(files[0]), tokens, masked_model(model), {.top = 1});
  for (const FilledMask& mask : filled.masks) {
    const Ids word = tokens.encode(mask.words[0].text, /*glued=*/false);
    lengths.push_back(std::max<int64_t>(1, std::ssize(word)));
  }
  return lengths;
}

int64_t num_passes(std::string_view text, const WordTokens& tokens, const FillOptions& options,
                   FillOrder order) {
  const auto num_masks = std::ssize(split_at_masks(text)) - 1;
  const int64_t lengths = options.num_bytes ? 1 : tokens.longest;
  int64_t word = lengths;
  if (options.order.value_or(order) != FillOrder::kAtOnce) {
    const int64_t letters = options.num_bytes ? *options.num_bytes : (tokens.longest + 1) / 2;
    word = lengths * (1 + letters_beam(options.top) * (letters - 1));
  }
  return num_masks * (num_masks + 1) / 2 * word;
}

}  // namespace perceiver
