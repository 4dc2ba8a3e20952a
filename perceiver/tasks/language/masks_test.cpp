#include "perceiver/tasks/language/masks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#ifdef PERCEIVER_SENTENCEPIECE
#include "perceiver/modalities/sentencepiece_test.h"
#endif

namespace perceiver {
namespace {

using Runs = std::vector<std::string_view>;

// Ids of a text in which '_' stands for a mask.
Ids ids_of(std::string_view text) {
  Ids ids = ByteTokenizer().encode(text);
  std::ranges::replace(ids, int64_t{'_' + 6}, ByteTokenizer::kMask);
  return ids;
}

Ids ids_of(const Tensor& row) {
  const Tensor ids = row.to(at::kLong).contiguous();
  return {ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + ids.numel()};
}

TEST(SplitAtMasks, KnowsEverySpelling) {
  EXPECT_EQ(split_at_masks("a [MASK] b"), (Runs{"a ", " b"}));
  EXPECT_EQ(split_at_masks("a [mask] b <mask>c<MASK>"), (Runs{"a ", " b ", "c", ""}));
  EXPECT_EQ(split_at_masks("[MASK][Mask]"), (Runs{"", "", ""}));
  EXPECT_EQ(split_at_masks("[MAS] <mask [mask>"), (Runs{"[MAS] <mask [mask>"}));
  EXPECT_EQ(split_at_masks(""), Runs{""});
}

TEST(ReadMaskedTexts, AMissingWordIsSoManyMasks) {
  const std::vector<File> text = {{"a.txt", "the [MASK] of <mask>.\n"}};
  EXPECT_EQ(ids_of(read_masked_texts(text, ByteTokenizer(), 19).at("ids")[0]),
            ids_of("the _____ of _____."));
  const std::vector<int64_t> letters = {3};
  const Example rows = read_masked_texts(text, ByteTokenizer(), 20, letters);
  EXPECT_EQ(ids_of(rows.at("ids")[0].masked_select(rows.at("mask")[0])),
            ids_of("the ___ of _____."));
}

TEST(ReadMaskedTexts, FindsTheWordInAnyRowAndInTheSecondOfTwoTexts) {
  const std::vector<File> text = {{"a.txt", "abcd efgh [MASK] i"}};
  const Tensor rows = read_masked_texts(text, ByteTokenizer(), 10).at("ids");
  const Ids second = ids_of(rows[1]);
  EXPECT_EQ(second[0], ' ' + 6);
  EXPECT_EQ(Ids(second.begin() + 1, second.begin() + 6), Ids(5, ByteTokenizer::kMask));
  const std::vector<File> pair = {{"a", "ab"}, {"b", "c [MASK]"}};
  const Ids ids = ids_of(read_masked_texts(pair, ByteTokenizer(), 10).at("ids")[0]);
  EXPECT_EQ(ids[2], ByteTokenizer::kSep);
  EXPECT_EQ(ids[3], 'c' + 6);
  EXPECT_EQ(Ids(ids.begin() + 5, ids.end()), Ids(5, ByteTokenizer::kMask));
}

#ifdef PERCEIVER_SENTENCEPIECE

TEST(ReadMaskedTexts, OfPiecesAMissingWordIsOneMaskOrAsManyAsItIsTold) {
  const SentencePieceTokenizer pieces(small_model());
  const std::vector<File> text = {{"a.txt", "the [MASK] attend to <mask>"}};
  const auto read = [&](std::span<const int64_t> lengths) {
    const Example rows = read_masked_texts(text, pieces, 40, lengths);
    return ids_of(rows.at("ids")[0].masked_select(rows.at("mask")[0]));
  };
  const int64_t mask = pieces.special().mask;
  const auto expected = [&](int64_t first, int64_t second) {
    Ids ids = pieces.encode("the");
    ids.insert(ids.end(), first, mask);
    for (const int64_t id : pieces.encode("attend to")) ids.push_back(id);
    ids.insert(ids.end(), second, mask);
    return ids;
  };
  EXPECT_EQ(read({}), expected(1, 1));
  const std::vector<int64_t> lengths = {3, 2};
  EXPECT_EQ(read(lengths), expected(3, 2));
}

#endif

TEST(WithMaskedSpaces, ASpaceBelongsToTheWordAfterIt) {
  const Tensor ids = at::tensor(ids_of("_ a __ b")).unsqueeze(0);
  EXPECT_EQ(ids_of(with_masked_spaces(ids)[0]), ids_of("_ a___ b"));
}

}  // namespace
}  // namespace perceiver
