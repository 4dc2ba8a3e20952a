#include "perceiver/tasks/language/fill.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/core/error_test.h"

#ifdef PERCEIVER_SENTENCEPIECE
#include "perceiver/modalities/sentencepiece_test.h"
#endif

namespace perceiver {
namespace {

const WordTokens kBytes = word_tokens(ByteTokenizer());

// Log-probabilities of a model that is all but sure of `bytes`, and of nothing else.
Tensor sure_of(std::string_view bytes, double surety = -0.1) {
  Tensor rows = at::full({std::ssize(bytes), 262}, -20.0, at::kFloat);
  const Ids ids = ByteTokenizer().encode(bytes);
  for (size_t i = 0; i < ids.size(); ++i) {
    rows[static_cast<int64_t>(i)][ids[i]] = surety;
  }
  return rows;
}

std::vector<std::string> texts_of(const std::vector<Word>& words) {
  std::vector<std::string> texts;
  for (const Word& word : words) texts.push_back(word.text);
  return texts;
}

TEST(LikeliestWords, AreOfTheBestTokensAndAsLikelyAsTheseTogether) {
  Tensor rows = sure_of(" cat");
  rows[1]['b' + 6] = -0.5;
  rows[3]['r' + 6] = -0.2;
  const std::vector<Word> words = likeliest_words(rows, kBytes, true, 4);
  EXPECT_EQ(texts_of(words), (std::vector<std::string>{"cat", "car", "bat", "bar"}));
  EXPECT_NEAR(words[0].log_probability, -0.3, 1e-6);
  EXPECT_NEAR(words[3].log_probability, -0.5 - 0.1 - 0.2, 1e-6);  // the space is given
}

TEST(LikeliestWords, HoldNoSpaceNoControlCharacterAndNoSpecialToken) {
  Tensor rows = sure_of("ab");
  for (const int64_t id : {int64_t{0}, int64_t{3}, int64_t{' ' + 6}, int64_t{'\n' + 6},
                           int64_t{0x7F + 6}, int64_t{0x1B + 6}}) {
    rows.select(1, id).fill_(-0.01);
  }
  EXPECT_EQ(likeliest_words(rows, kBytes, false, 1)[0].text, "ab");
}

TEST(LikeliestWords, NeitherBeginNorEndWithAMarkUnlessToldTo) {
  Tensor rows = sure_of("it's");
  rows[0]['"' + 6] = rows[3][',' + 6] = -0.01;
  EXPECT_EQ(likeliest_words(rows, kBytes, false, 1)[0].text, "it's");
  EXPECT_EQ(likeliest_words(rows, kBytes, false, 1, true)[0].text, "\"t',");
  rows = sure_of(" a");
  rows[1][',' + 6] = -0.01;
  EXPECT_EQ(likeliest_words(rows, kBytes, true, 1)[0].text, "a");
}

TEST(LikeliestWords, AreUtf8EvenWhereSingleBytesWouldNotBe) {
  Tensor rows = sure_of("fran\xC3\xA7");
  rows[5]['e' + 6] = -0.01;  // likelier than the second byte of ç, and no UTF-8 after the first
  EXPECT_EQ(likeliest_words(rows, kBytes, false, 1)[0].text, "franç");
  rows = sure_of("a\xE6");  // the first byte of three, at the end
  rows[1]['z' + 6] = -3.0;
  EXPECT_EQ(texts_of(likeliest_words(rows, kBytes, false, 1)), (std::vector<std::string>{"az"}));
}

TEST(LikeliestWords, TheSpaceBeforeAWordIsNoWord) {
  EXPECT_TRUE(likeliest_words(sure_of(" "), kBytes, true, 3).empty());
}

// A model that knows sentences: at each masked position it is sure of the byte that a sentence has
// there, if the sentence agrees with all of the text that is not masked.
class KnownSentences {
 public:
  KnownSentences(std::vector<std::pair<std::string, double>> sentences, int64_t num_inputs = 64)
      : sentences_(std::move(sentences)), num_inputs_(num_inputs) {}

  MaskedModel model() {
    return {num_inputs_, [this](const TokenBatch& texts, const Tensor& positions) {
              std::vector<Tensor> rows;
              for (int64_t b = 0; b < texts.ids.size(0); ++b) {
                const Tensor ids = texts.ids[b].masked_select(texts.mask[b]);
                seen.emplace_back(ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + ids.numel());
                rows.push_back(answer(seen.back()).index_select(0, positions[b]));
              }
              return at::stack(rows);
            }};
  }

  std::vector<Ids> seen;

 private:
  Tensor answer(const Ids& ids) const {
    for (const auto& [sentence, surety] : sentences_) {
      const Ids known = ByteTokenizer().encode(sentence);
      bool agrees = known.size() == ids.size();
      for (size_t i = 0; agrees && i < ids.size(); ++i) {
        agrees = ids[i] == ByteTokenizer::kMask || ids[i] == known[i];
      }
      if (agrees) return sure_of(sentence, surety);
    }
    return at::full({std::ssize(ids), 262}, -5.0, at::kFloat);
  }

  std::vector<std::pair<std::string, double>> sentences_;
  int64_t num_inputs_;
};

TEST(Fill, FindsTheLengthOfTheWord) {
  KnownSentences known(
      {{"Paris is the capital of France.", -0.1}, {"Paris is the joy of France.", -0.9}});
  const FilledText filled = fill("Paris is the [MASK] of France.", kBytes, known.model());
  EXPECT_EQ(filled.text, "Paris is the capital of France.");
  ASSERT_EQ(filled.masks.size(), 1u);
  const FilledMask& mask = filled.masks[0];
  EXPECT_EQ(mask.words.size(), 5u);
  EXPECT_EQ(mask.words[0].text, "capital");
  EXPECT_EQ(mask.words[1].text, "joy");
  EXPECT_EQ(filled.text.substr(mask.begin, 7), "capital");
}

// Of the words in novels 6.6 % have seven letters, 23.8 % three.
TEST(Fill, AWordsProbabilityIsThatOfItsLengthAndOfItsLetters) {
  KnownSentences known({{"Paris is the capital of France.", -0.1}});
  const FilledMask capital = fill("Paris is the [MASK] of France.", kBytes, known.model()).masks[0];
  EXPECT_NEAR(capital.words[0].log_probability, std::log(0.066) - 0.7, 1e-5);
  const FilledMask given =
      fill("Paris is the [MASK] of France.", kBytes, known.model(), {.num_bytes = 7}).masks[0];
  EXPECT_NEAR(given.words[0].log_probability, -0.7, 1e-5);  // of a length that is given
}

// A model that is as sure of each letter of one word as of the other's, in a sentence for both.
MaskedModel torn_between(std::string one, std::string other, double surety) {
  return {64, [=](const TokenBatch& texts, const Tensor& positions) {
            Tensor all = at::full({texts.ids.size(0), positions.size(1), 262}, -9.0, at::kFloat);
            for (const std::string& word : {one, other}) {
              const auto size = std::ssize(word);
              if (size > positions.size(0)) continue;
              for (int64_t i = 0; i < size; ++i) {
                all[size - 1][i + 1][word[static_cast<size_t>(i)] + 6] = surety;
              }
            }
            return all;
          }};
}

// The mean over letters, -0.9 against -1, would put "I" first; few words have one letter.
TEST(Fill, AShortWordIsNotPreferredForBeingShort) {
  const MaskedModel model{
      64, [](const TokenBatch& texts, const Tensor& positions) {
        Tensor all = at::full({texts.ids.size(0), positions.size(1), 262}, -9.0, at::kFloat);
        all[0][1]['I' + 6] = -0.9;
        all[1][1]['b' + 6] = all[1][2]['y' + 6] = -1.0;
        return all;
      }};
  EXPECT_EQ(fill("The [MASK] of the house", kBytes, model, {}).text, "The by of the house");
}

TEST(Fill, WhereThereIsAListOnlyItsWordsAreTakenAndTheirProbabilitiesAddUpToOne) {
  const MaskedModel model = torn_between("door", "pear", -0.7);
  EXPECT_EQ(fill("the [MASK] of", kBytes, model, {.top = 16}).masks[0].words.size(), 16u);
  WordTokens tokens = kBytes;
  tokens.known = WordList({"words.txt", "door\npear\ncat\n"});
  const FilledMask mask = fill("the [MASK] of", tokens, model, {.top = 16}).masks[0];
  std::vector<std::string> words = texts_of(mask.words);
  EXPECT_EQ(words.back(), "cat");
  std::ranges::sort(words);
  EXPECT_EQ(words, (std::vector<std::string>{"cat", "door", "pear"}));
  double sum = 0.0;
  for (const Word& word : mask.words) sum += std::exp(word.log_probability);
  EXPECT_NEAR(sum, 1.0, 1e-6);
}

// A part of a word is in no list; nor need a word be of which somebody knows the length.
TEST(Fill, APartOfAWordAndAWordOfGivenLengthNeedNotBeInTheList) {
  KnownSentences known({{"unbearable", -0.1}, {"the dor of", -0.1}});
  WordTokens tokens = kBytes;
  tokens.known = WordList({"words.txt", "door\n"});
  EXPECT_EQ(fill("un[MASK]able", tokens, known.model()).text, "unbearable");
  EXPECT_EQ(fill("the [MASK] of", tokens, known.model(), {.num_bytes = 3}).text, "the dor of");
  EXPECT_EQ(fill("the [MASK] of", tokens, known.model()).text, "the door of");
}

TEST(Fill, AMaskMayBeWrittenAsOthersWriteIt) {
  KnownSentences known({{"the cat of", -0.1}});
  EXPECT_EQ(fill("the <mask> of", kBytes, known.model()).text, "the cat of");
  EXPECT_EQ(fill("the [mask] of", kBytes, known.model()).text, "the cat of");
}

TEST(Fill, MasksTheSpaceBeforeAWordAndTriesOneToSixteenBytesWithIt) {
  KnownSentences known({{"the cat of", -0.1}});
  fill("the [MASK] of", kBytes, known.model());
  ASSERT_EQ(known.seen.size(), 15u);
  const ByteTokenizer bytes;
  for (size_t i = 0; i < known.seen.size(); ++i) {
    Ids expected = bytes.encode("the");
    expected.insert(expected.end(), i + 2, ByteTokenizer::kMask);
    const Ids after = bytes.encode(" of");
    expected.insert(expected.end(), after.begin(), after.end());
    EXPECT_EQ(known.seen[i], expected);
  }
}

TEST(Fill, AMaskAtTheBeginningOrWithinAWordHasNoSpace) {
  KnownSentences known({{"Cats sleep", -0.1}, {"unbearable", -0.1}});
  EXPECT_EQ(fill("[MASK] sleep", kBytes, known.model()).text, "Cats sleep");
  EXPECT_EQ(known.seen.size(), 16u);
  EXPECT_EQ(known.seen[0].size(), 7u);
  EXPECT_EQ(fill("un[MASK]able", kBytes, known.model()).text, "unbearable");
}

TEST(Fill, WordsAreUtf8OfAnyLanguage) {
  KnownSentences known({{"Das ist ein schöner Tag", -0.1}, {"東京は日本の首都です", -0.1}});
  EXPECT_EQ(fill("Das ist ein [MASK] Tag", kBytes, known.model()).text, "Das ist ein schöner Tag");
  EXPECT_EQ(fill("東京は日本の[MASK]です", kBytes, known.model()).masks[0].words[0].text, "首都");
}

TEST(Fill, SeveralMasksAreFilledTheSurestFirstAndReadAgain) {
  // With the second word of typical length the first is a guess, and certain once that is known.
  KnownSentences known({{"the cat chased mice", -0.1},
                        {"the 12345 chased mice", -0.2},
                        {"the dog chased 12345", -0.4}});
  const FilledText filled = fill("the [MASK] chased [MASK]", kBytes, known.model());
  EXPECT_EQ(filled.text, "the cat chased mice");
  EXPECT_EQ(filled.masks[0].step, 2);
  EXPECT_EQ(filled.masks[1].step, 1);
  EXPECT_EQ(filled.text.substr(filled.masks[1].begin), "mice");
  EXPECT_EQ(std::ssize(known.seen), num_passes("the [MASK] chased [MASK]", kBytes, {}) - 3);
}

TEST(Fill, AnExactLengthTriesNoOther) {
  KnownSentences known({{"the cat of", -0.3}, {"the tiger of", -0.1}});
  EXPECT_EQ(fill("the [MASK] of", kBytes, known.model(), {.num_bytes = 3}).text, "the cat of");
  EXPECT_EQ(known.seen.size(), 1u);
}

TEST(Fill, OfALongTextTheModelReadsWhatSurroundsTheMask) {
  KnownSentences known({}, 40);
  std::string text;
  for (int i = 0; i < 30; ++i) text += "äö";
  fill(text + "[MASK]" + text, kBytes, known.model(), {.top = 1});
  for (const Ids& ids : known.seen) {
    EXPECT_LE(ids.size(), 40u);
    EXPECT_EQ((ids.front() - 6) & 0xC0, 0xC0);  // begins a character
    EXPECT_EQ((ids.back() - 6) & 0xC0, 0x80);   // ends one
  }
  EXPECT_EQ(known.seen.back().size(), 40u);
  known.seen.clear();
  fill("a[MASK]" + text, kBytes, known.model(), {.top = 1});  // little before, so more after
  EXPECT_EQ(known.seen.back().size(), 39u);
  EXPECT_EQ(known.seen.back().front(), 'a' + 6);
}

TEST(Fill, AskedPositionsAreThoseOfTheModelsForwardPass) {
  at::NoGradGuard no_grad;
  at::manual_seed(1);
  LanguageConfig config;
  config.num_inputs = 48;
  config.input_channels = 16;
  config.encoder.num_latents = 5;
  config.encoder.latent_channels = 24;
  config.encoder.self_attends_per_block = 1;
  config.encoder.cross_attend.qk_channels = config.encoder.self_attend.qk_channels = 8;
  config.encoder.cross_attend.v_channels = config.encoder.self_attend.v_channels = 24;
  config.decoder.cross_attend.qk_channels = 8;
  config.decoder.cross_attend.v_channels = 16;
  Language language(config);
  const MaskedModel model = masked_model(*language);
  const TokenBatch texts =
      pad_or_crop({ByteTokenizer().encode("a bc"), ByteTokenizer().encode("a longer one")}, 12, 0);
  const Tensor positions = at::tensor({1, 3, 0, 11}).view({2, 2});
  const Tensor some = model.log_probabilities(texts, positions);
  const Tensor all = language(texts.ids, texts.mask).log_softmax(-1);
  EXPECT_EQ(some.sizes(), (std::vector<int64_t>{2, 2, 262}));
  EXPECT_TRUE(at::allclose(some[0][1], all[0][3], 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(some[1][1], all[1][11], 1e-5, 1e-5));
  EXPECT_FALSE(fill("a [MASK] of", kBytes, model).masks[0].words.empty());
}

TEST(Fill, WhatCannotBeFilledIsSaid) {
  KnownSentences known({});
  const MaskedModel model = known.model();
  const auto error = [&](std::string_view text, const FillOptions& options = {}) {
    return error_of([&] { fill(text, kBytes, model, options); });
  };
  EXPECT_EQ(error(""), "the text is empty; write [MASK] where a word is missing");
  EXPECT_EQ(error("Paris"), "the text has no [MASK]; write it where a word is missing");
  std::string many;
  for (int i = 0; i < 11; ++i) many += "[MASK] ";
  EXPECT_EQ(error(many), "the text has 11 [MASK]s, at most 10 fit the model's 64 bytes; split it");
  EXPECT_EQ(error("[MASK]", {.num_bytes = 64}),
            "--bytes 64: the model reads 64 bytes at once, a word must be shorter");
}

#ifdef PERCEIVER_SENTENCEPIECE

// A model that is sure of these pieces, one after another.
Tensor sure_of_pieces(const SentencePieceTokenizer& tokenizer,
                      const std::vector<std::string>& pieces) {
  Tensor rows = at::full({std::ssize(pieces), tokenizer.vocabulary_size() + 4}, -9.0, at::kFloat);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::optional<int64_t> id = tokenizer.id_of(pieces[i]);
    EXPECT_TRUE(id) << pieces[i];
    rows[static_cast<int64_t>(i)][id.value_or(0)] = -0.1;
  }
  return rows;
}

TEST(LikeliestWords, OfPiecesBeginWithASpaceAndHaveNoOther) {
  const SentencePieceTokenizer tokenizer(small_model());
  const WordTokens tokens = word_tokens(tokenizer);
  const Tensor rows = sure_of_pieces(tokenizer, {"\u2581attend", "s"});
  EXPECT_EQ(likeliest_words(rows, tokens, true, 1)[0].text, "attends");
  EXPECT_NE(likeliest_words(rows, tokens, false, 1)[0].text, "attends");
  const Tensor two = sure_of_pieces(tokenizer, {"\u2581attend", "\u2581attend"});
  EXPECT_NE(likeliest_words(two, tokens, true, 1)[0].text, "attend attend");
  const Tensor special = sure_of_pieces(tokenizer, {"[CLS]"});
  EXPECT_NE(likeliest_words(special, tokens, true, 1)[0].text, "");
}

TEST(Fill, OfPiecesTriesOneToEight) {
  const SentencePieceTokenizer tokenizer(small_model());
  const WordTokens tokens = word_tokens(tokenizer);
  std::vector<Ids> seen;
  const MaskedModel model{64, [&](const TokenBatch& texts, const Tensor& positions) {
                            for (int64_t b = 0; b < texts.ids.size(0); ++b) {
                              const Tensor ids = texts.ids[b].masked_select(texts.mask[b]);
                              seen.emplace_back(ids.data_ptr<int64_t>(),
                                                ids.data_ptr<int64_t>() + ids.numel());
                            }
                            Tensor rows = at::full({8, positions.size(1), 64}, -9.0, at::kFloat);
                            rows[0][0][*tokenizer.id_of("\u2581attend")] = -0.1;
                            return rows;
                          }};
  const FilledText filled = fill("queries [MASK] latents", tokens, model, {.top = 2});
  EXPECT_EQ(filled.text, "queries attend latents");
  ASSERT_EQ(seen.size(), 8u);
  Ids expected = tokenizer.encode("queries");
  expected.push_back(tokenizer.special().mask);
  for (const int64_t id : tokenizer.encode("latents")) expected.push_back(id);
  EXPECT_EQ(seen[0], expected);
  EXPECT_EQ(seen[7].size(), expected.size() + 7);
  EXPECT_EQ(error_of([&] { fill("[MASK]", tokens, model, {.num_bytes = 3}); }),
            "--bytes: this model's words are made of pieces, not of bytes");
}

TEST(WordTokens, PiecesAfterAWordLoseTheSpaceThatSentencePieceAdds) {
  const SentencePieceTokenizer tokenizer(small_model());
  const WordTokens tokens = word_tokens(tokenizer);
  EXPECT_EQ(tokenizer.piece(tokens.encode("attend", false).front()), "\u2581attend");
  EXPECT_FALSE(tokenizer.piece(tokens.encode("attend", true).front()).starts_with("\u2581"));
}

#endif

}  // namespace
}  // namespace perceiver
