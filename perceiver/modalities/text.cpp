#include "perceiver/modalities/text.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"

#ifdef PERCEIVER_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

namespace perceiver {

Ids ByteTokenizer::encode(std::string_view text) const {
  Ids ids;
  ids.reserve(text.size());
  for (const unsigned char byte : text) ids.push_back(byte + kNumSpecial);
  return ids;
}

std::string ByteTokenizer::decode(std::span<const int64_t> ids) const {
  std::string bytes;
  for (const int64_t id : ids) {
    if (id < 0 || id >= kVocabularySize) {
      fail("id {} is not in the vocabulary of {} bytes and special ids", id, kVocabularySize);
    }
    if (id >= kNumSpecial) bytes.push_back(static_cast<char>(id - kNumSpecial));
  }
  return replace_invalid_utf8(bytes);
}

Ids wrap(const SpecialIds& special, const Ids& a, const std::optional<Ids>& b) {
  Ids ids = {special.cls};
  ids.insert(ids.end(), a.begin(), a.end());
  ids.push_back(special.sep);
  if (b) {
    ids.insert(ids.end(), b->begin(), b->end());
    ids.push_back(special.sep);
  }
  return ids;
}

TokenBatch pad_or_crop(const std::vector<Ids>& texts, int64_t length, int64_t pad_id) {
  const int64_t batch = static_cast<int64_t>(texts.size());
  TokenBatch result{.ids = at::full({batch, length}, pad_id, at::kLong),
                    .mask = at::zeros({batch, length}, at::kBool)};
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t size = std::min<int64_t>(texts[i].size(), length);
    std::copy_n(texts[i].begin(), size, result.ids.data_ptr<int64_t>() + i * length);
    std::fill_n(result.mask.data_ptr<bool>() + i * length, size, true);
  }
  return result;
}

// Ids on a GPU are the trainer's, made by a tokenizer of this vocabulary: to look at them would
// make the CPU wait for the GPU in every step.
static void check_ids(const Tensor& ids, int64_t vocabulary) {
  if (!ids.is_cpu()) return;
  const Tensor outside = ids.masked_select((ids < 0).logical_or(ids >= vocabulary));
  if (outside.numel() == 0) return;
  fail("id {} is not in the model's vocabulary of {}", outside[0].item<int64_t>(), vocabulary);
}

TextInputImpl::TextInputImpl(int64_t vocabulary_size, int64_t num_inputs, int64_t channels,
                             Init token_init)
    : token_(register_module("token", Embedding(vocabulary_size, channels, token_init))),
      position_(register_module("position", Embedding(num_inputs, channels))) {}

void TextInputImpl::check(const Tensor& ids, int64_t length) const {
  const int64_t vocabulary = token_->weight.size(0), num_inputs = position_->weight.size(0);
  if (length > num_inputs) {
    fail("a text of {} tokens is longer than the model's {}; crop it first", length, num_inputs);
  }
  check_ids(ids, vocabulary);
}

Array TextInputImpl::forward(const Tensor& ids, const Tensor& before) {
  check_shape(ids, {kAny, kAny}, "ids");
  const int64_t length = ids.size(1) + (before.defined() ? before.size(1) : 0);
  check(ids, length);
  const Tensor on_device = ids.to(token_->weight.device());
  const Tensor& places = position_->weight;
  if (!before.defined()) return Array(LearnedSums{token_->weight, places, on_device});
  return at::cat({before, token_(on_device)}, 1) + places.narrow(0, 0, length);
}

std::vector<Part> TextInputImpl::parts() const {
  return {{.name = "token", .parameters = token_->weight.numel()},
          {.name = "position", .parameters = position_->weight.numel()}};
}

#ifdef PERCEIVER_SENTENCEPIECE

SentencePieceTokenizer::SentencePieceTokenizer(const File& model)
    : name_(model.name), processor_(std::make_shared<sentencepiece::SentencePieceProcessor>()) {
  // The library takes nothing at all for an empty model.
  if (model.bytes.empty() || !processor_->LoadFromSerializedProto(model.bytes).ok()) {
    fail("{}: not a SentencePiece model", name_);
  }
  const auto required = [&](const std::string& piece) {
    const std::optional<int64_t> id = id_of(piece);
    if (!id) {
      fail("{}: has no piece '{}'; train it with --control_symbols=[PAD],[MASK],[CLS],[SEP]", name_,
           piece);
    }
    return *id;
  };
  const int64_t pad = processor_->pad_id();
  special_ = {.pad = pad >= 0 ? pad : required("[PAD]"),
              .mask = required("[MASK]"),
              .cls = required("[CLS]"),
              .sep = required("[SEP]")};
}

Ids SentencePieceTokenizer::encode(std::string_view text) const {
  const std::vector<int> ids = processor_->EncodeAsIds(text);
  return {ids.begin(), ids.end()};
}

std::string SentencePieceTokenizer::decode(std::span<const int64_t> ids) const {
  std::vector<int> kept;
  for (const int64_t id : ids) {
    check_id(id);
    const bool special =
        id == special_.pad || id == special_.mask || id == special_.cls || id == special_.sep;
    if (!special) kept.push_back(static_cast<int>(id));
  }
  return processor_->DecodeIds(kept);
}

std::string SentencePieceTokenizer::piece(int64_t id) const {
  check_id(id);
  return processor_->IdToPiece(static_cast<int>(id));
}

bool SentencePieceTokenizer::is_text(int64_t id) const {
  check_id(id);
  const int piece = static_cast<int>(id);
  return !processor_->IsControl(piece) && !processor_->IsUnknown(piece) &&
         !processor_->IsUnused(piece) && !processor_->IsByte(piece) && id != special_.pad &&
         id != special_.mask && id != special_.cls && id != special_.sep;
}

std::optional<int64_t> SentencePieceTokenizer::id_of(const std::string& piece) const {
  // An unknown piece gets the unknown piece's id.
  const int id = processor_->PieceToId(piece);
  if (processor_->IdToPiece(id) != piece) return {};
  return id;
}

int64_t SentencePieceTokenizer::vocabulary_size() const { return processor_->GetPieceSize(); }

void SentencePieceTokenizer::check_id(int64_t id) const {
  if (id < 0 || id >= vocabulary_size()) {
    fail("{}: id {} is not in the vocabulary of {} pieces", name_, id, vocabulary_size());
  }
}

#else

SentencePieceTokenizer::SentencePieceTokenizer(const File& model) {
  fail("{}: this build has no SentencePiece; install libsentencepiece-dev and build again",
       model.name);
}

// Never called: there is no such object.
Ids SentencePieceTokenizer::encode(std::string_view) const { return {}; }
std::string SentencePieceTokenizer::decode(std::span<const int64_t>) const { return {}; }
std::string SentencePieceTokenizer::piece(int64_t) const { return {}; }
bool SentencePieceTokenizer::is_text(int64_t) const { return false; }
std::optional<int64_t> SentencePieceTokenizer::id_of(const std::string&) const { return {}; }
int64_t SentencePieceTokenizer::vocabulary_size() const { return 0; }

#endif

}  // namespace perceiver
