// Words that are missing from a text, and how people write them: "[MASK]" or "<mask>", in small
// letters or capitals.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "perceiver/core/file.h"
#include "perceiver/data/dataset.h"
#include "perceiver/modalities/tokenizer.h"

namespace perceiver {

inline constexpr std::string_view kMissingWord = "[MASK]";

// What stands between the masks: one run more than there are masks.
std::vector<std::string_view> split_at_masks(std::string_view text);

// Tokens of a word that nobody has guessed yet.
inline constexpr int64_t kTypicalLetters = 5, kTypicalPieces = 1;

// A user's files as read_texts() (modalities/text_file.h) gives them, with masks for every missing
// word: `tokens` of each in turn, as many as are typical of those that it does not tell of.
Example read_masked_texts(std::span<const File> files, const Tokenizer& tokenizer, int64_t length,
                          std::span<const int64_t> tokens = {});

// ids [B, m] with the space before a masked word masked, too: byte models learnt that it belongs to
// the word.
Tensor with_masked_spaces(const Tensor& ids);

}  // namespace perceiver
