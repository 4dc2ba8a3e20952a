// Training a SentencePiece model (paper, App. F.3), with the pieces that the tokenizer needs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace perceiver {

// From the documents of text files. Needs a build with the library.
void train_sentencepiece(const std::vector<std::string>& paths, const std::filesystem::path& output,
                         int64_t vocabulary_size);

}  // namespace perceiver
