#include "perceiver/tasks/language/letters.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

const WordTokens kBytes = word_tokens(ByteTokenizer());

// A model that knows how often each word stands between "the" and " of", and so, of a word of which
// some letters are known, exactly how likely each letter is at each place.
class KnownWords {
 public:
  explicit KnownWords(std::map<std::string, double> shares) : shares_(std::move(shares)) {}

  MaskedModel model(FillOrder order = FillOrder::kAtOnce) {
    return {64,
            [this](const TokenBatch& texts, const Tensor& positions) {
              std::vector<Tensor> rows;
              for (int64_t b = 0; b < texts.ids.size(0); ++b) {
                const Tensor ids = texts.ids[b].masked_select(texts.mask[b]);
                const std::string text = shown(ids);
                seen.push_back(text.substr(3, text.size() - 6));
                rows.push_back(letters(seen.back()).index_select(0, positions[b] - 3));
              }
              return at::stack(rows);
            },
            order};
  }

  // Of a word among those of its length.
  double share(const std::string& word) const {
    double all = 0.0;
    for (const auto& [other, share] : shares_) all += other.size() == word.size() ? share : 0.0;
    return shares_.at(word) / all;
  }

  std::vector<std::string> seen;  // spans that were asked about, '_' for a mask

 private:
  static std::string shown(const Tensor& ids) {
    std::string text;
    for (int64_t i = 0; i < ids.size(0); ++i) {
      const auto id = ids[i].item<int64_t>();
      text += id == ByteTokenizer::kMask ? '_' : static_cast<char>(id - ByteTokenizer::kNumSpecial);
    }
    return text;
  }

  // log-probabilities [bytes, vocabulary] at each place of "_d__r"
  Tensor letters(const std::string& part) const {
    Tensor sums = at::full({std::ssize(part), 262}, 1e-9, at::kDouble);
    for (const auto& [word, share] : shares_) {
      const std::string span = " " + word;
      bool agrees = span.size() == part.size();
      for (size_t i = 0; agrees && i < span.size(); ++i) {
        agrees = part[i] == '_' || part[i] == span[i];
      }
      for (size_t i = 0; agrees && i < span.size(); ++i) {
        sums[static_cast<int64_t>(i)][6 + static_cast<unsigned char>(span[i])] += share;
      }
    }
    return (sums / sums.sum(1, true)).log().to(at::kFloat);
  }

  std::map<std::string, double> shares_;
};

std::vector<std::string> texts_of(const std::vector<Word>& words) {
  std::vector<std::string> texts;
  for (const Word& word : words) texts.push_back(word.text);
  return texts;
}

FilledMask filled(KnownWords& known, const FillOptions& options, const WordTokens& tokens = kBytes,
                  FillOrder order = FillOrder::kAtOnce) {
  return fill("the [MASK] of", tokens, known.model(order), options).masks[0];
}

class Letters : public testing::TestWithParam<FillOrder> {};

TEST_P(Letters, AWordsProbabilityIsItsOwnAmongAllOfItsLength) {
  KnownWords known({{"door", 0.30}, {"doom", 0.10}, {"pear", 0.28}, {"peat", 0.22}});
  const FilledMask mask = filled(known, {.top = 8, .num_bytes = 4, .order = GetParam()});
  ASSERT_GE(mask.words.size(), 4u);
  EXPECT_EQ(texts_of({mask.words.begin(), mask.words.begin() + 4}),
            (std::vector<std::string>{"door", "pear", "peat", "doom"}));
  for (const char* word : {"door", "pear", "peat", "doom"}) {
    const auto found = std::ranges::find(mask.words, word, &Word::text);
    EXPECT_NEAR(std::exp(found->log_probability), known.share(word), 1e-5) << word;
  }
}

TEST_P(Letters, OfUnknownLengthItIsThatOfTheLengthTimesItsOwn) {
  KnownWords known({{"door", 0.4}, {"pear", 0.5}, {"cat", 0.1}});
  const FilledMask mask = filled(known, {.top = 3, .order = GetParam()});
  EXPECT_EQ(texts_of(mask.words), (std::vector<std::string>{"cat", "pear", "door"}));
  // Of the words in novels 23.8 % have three letters, 18.5 % four.
  EXPECT_NEAR(mask.words[0].log_probability, std::log(0.238), 1e-5);
  EXPECT_NEAR(mask.words[1].log_probability, std::log(0.185 * 5 / 9), 1e-5);
}

// Where each letter is told from the text alone, "pear" and "door" are "poor", "deor" and others.
TEST_P(Letters, WordsDoNotMix) {
  KnownWords known({{"door", 0.5}, {"pear", 0.5}});
  const FillOptions four{.top = 2, .num_bytes = 4};
  EXPECT_NEAR(filled(known, four).words[0].log_probability, 3 * std::log(0.5), 1e-5);
  std::vector<std::string> words =
      texts_of(filled(known, {.top = 2, .num_bytes = 4, .order = GetParam()}).words);
  std::ranges::sort(words);
  EXPECT_EQ(words, (std::vector<std::string>{"door", "pear"}));
}

TEST_P(Letters, WordsOfOtherLanguagesAreWhole) {
  KnownWords known({{"schöne", 0.6}, {"größe", 0.4}});
  const FilledMask mask = filled(known, {.top = 1, .order = GetParam()});
  EXPECT_EQ(mask.words[0].text, "schöne");
}

TEST_P(Letters, WhereThereIsAListOnlyItsWordsAreTaken) {
  KnownWords known({{"doom", 0.6}, {"door", 0.3}, {"pear", 0.1}});
  WordTokens tokens = kBytes;
  tokens.known = WordList({"words.txt", "door\npear\n"});
  const FilledMask mask = filled(known, {.top = 5, .order = GetParam()}, tokens);
  EXPECT_EQ(texts_of(mask.words), (std::vector<std::string>{"door", "pear"}));
  EXPECT_NEAR(mask.words[0].log_probability, std::log(0.185 * 0.3), 1e-5);
}

TEST_P(Letters, AreTheModelsWayUnlessAnotherIsAskedFor) {
  KnownWords known({{"door", 0.5}, {"pear", 0.5}});
  EXPECT_NEAR(filled(known, {.num_bytes = 4}, kBytes, GetParam()).words[0].log_probability,
              std::log(0.5), 1e-5);
  EXPECT_NEAR(filled(known, {.num_bytes = 4, .order = FillOrder::kAtOnce}, kBytes, GetParam())
                  .words[0]
                  .log_probability,
              3 * std::log(0.5), 1e-5);
}

TEST_P(Letters, OfPartsThatCannotBecomeABetterWordNothingIsAsked) {
  KnownWords known({{"a", 1.0}, {"transformations", 1.0}});
  filled(known, {.top = 1, .order = GetParam()});
  for (const std::string& part : known.seen) {
    // "a" is 3.7 % of words, one of fifteen letters 0.04 %.
    EXPECT_TRUE(part.size() < 16 || part.find_first_not_of(" _") == part.npos) << part;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, Letters,
                         testing::Values(FillOrder::kLeftToRight, FillOrder::kSurestFirst),
                         [](const auto& info) { return std::string(to_word(info.param)); });

TEST(Letters, TheSurestOneIsToldFirst) {
  KnownWords known({{"door", 0.5}, {"pear", 0.5}});
  const FillOptions four{.top = 4, .num_bytes = 4};
  const auto asked = [&](FillOrder order) {
    known.seen.clear();
    FillOptions options = four;
    options.order = order;
    filled(known, options);
    return std::vector(known.seen.begin(), known.seen.begin() + 2);
  };
  EXPECT_EQ(asked(FillOrder::kSurestFirst), (std::vector<std::string>{"_____", "____r"}));
  EXPECT_EQ(asked(FillOrder::kLeftToRight)[1].substr(2), "___");
}

}  // namespace
}  // namespace perceiver
