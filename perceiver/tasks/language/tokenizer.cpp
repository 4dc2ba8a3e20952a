#include "perceiver/tasks/language/tokenizer.h"

namespace perceiver {

Tokenizer find_tokenizer(const Model& model, int64_t vocabulary_size) {
  if (vocabulary_size == ByteTokenizer::kVocabularySize) return ByteTokenizer();
  for (const char* name : {"spiece.model", "tokenizer.model", "sentencepiece.model"}) {
    const std::filesystem::path file = model.folder / name;
    if (!std::filesystem::exists(file)) continue;
    const SentencePieceTokenizer tokenizer(read_file(file));
    if (tokenizer.vocabulary_size() <= vocabulary_size) return tokenizer;
    fail("{}: {} pieces, more than the model's vocabulary of {}", file.string(),
         tokenizer.vocabulary_size(), vocabulary_size);
  }
  fail(
      "{}: a vocabulary of {} is not that of bytes ({}), and there is no spiece.model, "
      "tokenizer.model or sentencepiece.model in {}",
      model.source, vocabulary_size, ByteTokenizer::kVocabularySize,
      model.folder.empty() ? "its folder" : model.folder.string());
}

}  // namespace perceiver
