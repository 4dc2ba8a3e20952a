#include "perceiver/modalities/tokenizer.h"

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// What SentencePiece writes for a space: the first sign of a piece that begins a word.
constexpr std::string_view kSpace = "\u2581";

std::string shown_byte(int64_t id) {
  switch (id) {
    case ByteTokenizer::kMask:
      return "_";  // one for each letter of a missing word
    case ByteTokenizer::kCls:
      return "[CLS]";
    case ByteTokenizer::kSep:
      return "[SEP]";
    default:
      if (id < ByteTokenizer::kNumSpecial) return "[]";
      return std::string(1, static_cast<char>(id - ByteTokenizer::kNumSpecial));
  }
}

std::string shown_piece(const SentencePieceTokenizer& tokenizer, int64_t id) {
  const std::string piece = tokenizer.piece(id);
  return piece.starts_with(kSpace) ? " " + piece.substr(kSpace.size()) : piece;
}

// The tokenizer that lies in a model's folder; an empty path where there is none.
fs::path file_in(const fs::path& folder) {
  for (const char* name : {"spiece.model", "tokenizer.model", "sentencepiece.model"}) {
    if (!folder.empty() && fs::exists(folder / name)) return folder / name;
  }
  return {};
}

std::string no_tokenizer(const std::string& source, int64_t vocabulary_size,
                         const fs::path& folder) {
  return fmt::format(
      "{}: a vocabulary of {} is not that of bytes ({}), and there is no spiece.model, "
      "tokenizer.model or sentencepiece.model in {}",
      source, vocabulary_size, ByteTokenizer::kVocabularySize,
      folder.empty() ? "its folder" : folder.string());
}

}  // namespace

Ids token_ids(const Tokenizer& tokenizer, std::string_view text) {
  return std::visit([&](const auto& t) { return t.encode(text); }, tokenizer);
}

SpecialIds special_ids(const Tokenizer& tokenizer) {
  return std::visit([](const auto& t) { return t.special(); }, tokenizer);
}

bool begins_word(const SentencePieceTokenizer& tokenizer, int64_t id) {
  return tokenizer.piece(id).starts_with(kSpace);
}

std::string shown_token(const Tokenizer& tokenizer, int64_t id) {
  if (is_of_bytes(tokenizer)) return shown_byte(id);
  return shown_piece(std::get<SentencePieceTokenizer>(tokenizer), id);
}

ModelTokenizer::ModelTokenizer(int64_t vocabulary_size, std::string named)
    : vocabulary_size_(vocabulary_size), named_(std::move(named)) {
  if (vocabulary_size != ByteTokenizer::kVocabularySize) {
    missing_ = no_tokenizer("the model", vocabulary_size, {});
  }
}

void ModelTokenizer::find(const fs::path& folder, const std::string& source) {
  if (vocabulary_size_ == ByteTokenizer::kVocabularySize) return;
  try {
    load(folder, source);
    missing_.clear();
  } catch (const Error& e) {
    missing_ = e.what();
  }
}

void ModelTokenizer::load(const fs::path& folder, const std::string& source) {
  fs::path file = file_in(folder);
  if (file.empty() && named_ != "bytes" && fs::exists(named_)) file = named_;
  if (file.empty()) throw Error(no_tokenizer(source, vocabulary_size_, folder));
  const SentencePieceTokenizer tokenizer(read_file(file));
  if (tokenizer.vocabulary_size() > vocabulary_size_) {
    fail("{}: {} pieces, more than the model's vocabulary of {}", file.string(),
         tokenizer.vocabulary_size(), vocabulary_size_);
  }
  tokenizer_ = tokenizer;
  file_ = file;
}

const Tokenizer& ModelTokenizer::get() const {
  if (!missing_.empty()) throw Error(missing_);
  return tokenizer_;
}

}  // namespace perceiver
