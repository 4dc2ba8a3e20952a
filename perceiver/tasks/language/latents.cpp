#include "perceiver/tasks/language/latents.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "perceiver/tasks/language/masks.h"

namespace perceiver {
namespace {

// How the tokens of a text fall into words, one after another.
class WordsOfText {
 public:
  explicit WordsOfText(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), special_(special_ids(tokenizer)) {}

  void add(int64_t id, TokenAt place) {
    const bool masked = id == special_.mask;
    if (!masked && !is_text(id)) return;
    if (is_space(id)) {
      inside_ = false;
      return;
    }
    if (!inside_ || begins(id)) words_.emplace_back();
    inside_ = true;
    PlacedWord& word = words_.back();
    const bool goes_on = masked && !word.ids.empty() && word.ids.back() == special_.mask;
    if (!goes_on) word.text += masked ? std::string(kMissingWord) : shown(id, word);
    word.is_missing |= masked;
    word.ids.push_back(id);
    word.places.push_back(place);
  }

  std::vector<PlacedWord> words() && { return std::move(words_); }

 private:
  const SentencePieceTokenizer* pieces() const {
    return std::get_if<SentencePieceTokenizer>(&tokenizer_);
  }
  bool is_text(int64_t id) const {
    if (pieces() == nullptr) return id >= ByteTokenizer::kNumSpecial;
    return id != special_.pad && id != special_.cls && id != special_.sep;
  }
  bool is_space(int64_t id) const {
    const int64_t byte = id - ByteTokenizer::kNumSpecial;
    return pieces() == nullptr && (byte == ' ' || (byte >= '\t' && byte <= '\r'));
  }
  // Whether a piece begins a word behind another; masks side by side are one.
  bool begins(int64_t id) const {
    if (pieces() == nullptr) return false;
    if (id == special_.mask) return words_.back().ids.back() != special_.mask;
    return begins_word(*pieces(), id);
  }
  std::string shown(int64_t id, const PlacedWord& word) const {
    std::string text = shown_token(tokenizer_, id);
    if (word.text.empty() && text.starts_with(' ')) text.erase(0, 1);
    return text;
  }

  const Tokenizer& tokenizer_;
  SpecialIds special_;
  std::vector<PlacedWord> words_;
  bool inside_ = false;
};

}  // namespace

std::vector<PlacedWord> words_of(const Tensor& ids, const Tokenizer& tokenizer) {
  const Tensor rows = ids.to(at::kLong).contiguous();
  const auto id = rows.accessor<int64_t, 2>();
  WordsOfText words(tokenizer);
  for (int64_t row = 0; row < id.size(0); ++row) {
    for (int64_t position = 0; position < id.size(1); ++position) {
      words.add(id[row][position], {row, position});
    }
  }
  return std::move(words).words();
}

Tensor log_probabilities_at(LanguageImpl& model, const Tensor& latents,
                            std::span<const TokenAt> places) {
  const at::NoGradGuard no_grad;
  const at::TensorOptions place = model.parameters().front().options();
  Tensor all = at::empty({std::ssize(places), model.config().vocabulary_size});
  for (int64_t row = 0; row < latents.size(0); ++row) {
    std::vector<int64_t> positions, here;
    for (int64_t i = 0; i < std::ssize(places); ++i) {
      if (places[i].row != row) continue;
      positions.push_back(places[i].position);
      here.push_back(i);
    }
    if (here.empty()) continue;
    const Tensor logits = model.decode(latents.narrow(0, row, 1).to(place), at::tensor(positions));
    all.index_copy_(0, at::tensor(here), logits[0].to(at::kFloat).log_softmax(-1).cpu());
  }
  return all;
}

}  // namespace perceiver
