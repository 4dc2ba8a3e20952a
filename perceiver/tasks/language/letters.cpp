#include "perceiver/tasks/language/letters.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <map>

namespace perceiver {
namespace {

constexpr int64_t kNarrowestBeam = 4;
constexpr int64_t kSpace = ByteTokenizer::kNumSpecial + ' ';

// A word of which some letters are known; masks stand for the others.
struct PartOfWord {
  Ids ids;
  double sum;  // of the log-probabilities of its length and of what is known
};

class LetterSearch {
 public:
  LetterSearch(const MissingWord& missing, const WordTokens& tokens, const MaskedModel& model,
               FillOrder order)
      : missing_(missing),
        tokens_(tokens),
        model_(model),
        order_(order),
        given_(tokens.are_bytes && missing.after_space ? 1 : 0) {}

  std::vector<Word> operator()() {
    std::vector<PartOfWord> parts = starts();
    while (!parts.empty()) parts = one_letter_more(parts);
    return std::move(words_);
  }

 private:
  // Nothing known but the space.
  std::vector<PartOfWord> starts() const {
    std::vector<PartOfWord> parts;
    for (size_t i = 0; i < missing_.lengths.size(); ++i) {
      parts.push_back({Ids(missing_.lengths[i], tokens_.special.mask), missing_.log_shares[i]});
      if (given_ > 0) parts.back().ids[0] = kSpace;
    }
    return parts;
  }

  std::vector<PartOfWord> one_letter_more(const std::vector<PartOfWord>& parts) {
    const Tensor rows = ask(parts);
    std::map<size_t, std::vector<PartOfWord>> by_length;
    for (size_t i = 0; i < parts.size(); ++i) {
      extend(parts[i], rows[static_cast<int64_t>(i)], by_length[parts[i].ids.size()]);
    }
    std::vector<PartOfWord> longer;
    for (auto& [length, some] : by_length) {
      std::ranges::stable_sort(some, std::greater(), &PartOfWord::sum);
      some.resize(std::min<size_t>(some.size(), letters_beam(missing_.top)));
      for (PartOfWord& part : some) {
        if (std::ranges::find(part.ids, tokens_.special.mask) == part.ids.end()) {
          add(part);
        } else {
          longer.push_back(std::move(part));
        }
      }
    }
    // A word is never likelier than a part of it.
    std::erase_if(longer, [&](const PartOfWord& part) { return part.sum <= least_wanted(); });
    return longer;
  }

  // What the model says of each: log-probabilities [parts, longest, vocabulary].
  Tensor ask(const std::vector<PartOfWord>& parts) const {
    std::vector<Ids> texts;
    std::vector<int64_t> lengths;
    for (const PartOfWord& part : parts) {
      Ids ids = missing_.before;
      // The space is known and yet not shown: words were masked together with theirs in training.
      ids.insert(ids.end(), given_, tokens_.special.mask);
      ids.insert(ids.end(), part.ids.begin() + given_, part.ids.end());
      ids.insert(ids.end(), missing_.after.begin(), missing_.after.end());
      lengths.push_back(std::ssize(part.ids));
      texts.push_back(std::move(ids));
    }
    const int64_t longest = *std::ranges::max_element(lengths);
    const int64_t around = std::ssize(missing_.before) + std::ssize(missing_.after);
    // A shorter word asks for its last letter again.
    const Tensor places =
        at::arange(longest).unsqueeze(0).minimum(at::tensor(lengths).unsqueeze(1) - 1);
    return model_.log_probabilities(pad_or_crop(texts, around + longest, tokens_.special.pad),
                                    std::ssize(missing_.before) + places);
  }

  // rows [longest, vocabulary]: the part with its next letter, for each that is likely.
  void extend(const PartOfWord& part, const Tensor& rows, std::vector<PartOfWord>& longer) const {
    const int64_t at = next_place(part, rows);
    const auto [values, order] = rows[at].sort(-1, /*descending=*/true);
    const auto value = values.accessor<float, 1>();
    const auto id = order.accessor<int64_t, 1>();
    int64_t taken = 0;
    for (int64_t rank = 0; rank < id.size(0) && taken < letters_beam(missing_.top); ++rank) {
      if (!fits(id[rank], part.ids, at)) continue;
      PartOfWord more{part.ids, part.sum + value[rank]};
      more.ids[at] = id[rank];
      if (missing_.known_only && !is_known(more.ids)) continue;
      longer.push_back(std::move(more));
      ++taken;
    }
  }

  int64_t next_place(const PartOfWord& part, const Tensor& rows) const {
    int64_t place = -1;
    float surest = -std::numeric_limits<float>::infinity();
    const Tensor best = rows.amax(-1);
    for (int64_t i = 0; i < std::ssize(part.ids); ++i) {
      if (part.ids[i] != tokens_.special.mask) continue;
      if (order_ == FillOrder::kLeftToRight) return i;
      const float sure = best[i].item<float>();
      if (place < 0 || sure > surest) place = i, surest = sure;
    }
    return place;
  }

  bool fits(int64_t id, const Ids& ids, int64_t at) const {
    const std::span<const int64_t> all(ids);
    return id != tokens_.special.mask && tokens_.fits(id, {.before = all.first(at),
                                                           .num_after = std::ssize(ids) - 1 - at,
                                                           .after_space = missing_.after_space,
                                                           .any_marks = missing_.any_marks});
  }

  bool is_known(const Ids& ids) const {
    return tokens_.known.has_like(std::span<const int64_t>(ids).subspan(given_));
  }

  // A word that is whole, if its letters fit together and it is not there yet: pieces may spell a
  // word in more than one way.
  void add(const PartOfWord& part) {
    for (int64_t i = 0; i < std::ssize(part.ids); ++i) {
      if (!fits(part.ids[i], part.ids, i)) return;
    }
    Word word{tokens_.text(part.ids), part.sum};
    const auto same = std::ranges::find(words_, word.text, &Word::text);
    if (same == words_.end()) {
      words_.push_back(std::move(word));
    } else if (same->log_probability < word.log_probability) {
      *same = std::move(word);
    }
    std::ranges::stable_sort(words_, std::greater(), &Word::log_probability);
    if (std::ssize(words_) > missing_.top) words_.resize(missing_.top);
  }

  double least_wanted() const {
    return std::ssize(words_) < missing_.top ? -std::numeric_limits<double>::infinity()
                                             : words_.back().log_probability;
  }

  const MissingWord& missing_;
  const WordTokens& tokens_;
  const MaskedModel& model_;
  FillOrder order_;
  int64_t given_;  // tokens of the word that are known from the start
  std::vector<Word> words_;
};

}  // namespace

int64_t letters_beam(int64_t top) { return std::max(top, kNarrowestBeam); }

std::vector<Word> words_by_letters(const MissingWord& missing, const WordTokens& tokens,
                                   const MaskedModel& model, FillOrder order) {
  return LetterSearch(missing, tokens, model, order)();
}

}  // namespace perceiver
