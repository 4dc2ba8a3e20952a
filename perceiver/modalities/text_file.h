// A user's files of text as rows of ids.
#pragma once

#include <map>

#include "perceiver/modalities/tokenizer.h"

namespace perceiver {

// What a model finds around a text.
enum class TextMarks {
  kNone,       // as DeepMind's code leaves it
  kClsAndSep,  // [CLS] text [SEP], as Hugging Face's tokenizer does
};

// The text of a file, without the line's end that closes it. Fails where it is empty, or where the
// file holds no text at all: a picture, say.
std::string_view text_in(const File& file);

// A row for each part of at most `length` tokens: {"ids" [B, length], "mask" [B, length]}, on the
// CPU. Two files are a pair, with [SEP] between them, and must fit one row. Fails where there is no
// text.
std::map<std::string, Tensor> read_texts(std::span<const File> files, const Tokenizer& tokenizer,
                                         int64_t length, TextMarks marks = TextMarks::kNone);

// The same of files whose texts are ids already.
std::map<std::string, Tensor> rows_of_texts(std::span<const File> files,
                                            const std::vector<Ids>& texts,
                                            const Tokenizer& tokenizer, int64_t length,
                                            TextMarks marks = TextMarks::kNone);

// The ids and mask of such rows on a device, without the columns that are padding in all of them.
TokenBatch text_rows(const std::map<std::string, Tensor>& example, at::Device device);

}  // namespace perceiver
