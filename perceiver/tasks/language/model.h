// Masked language modelling (paper, Sec. 4.1 and App. F): text with masked tokens in, logits of
// the vocabulary out.
#pragma once

#include "perceiver/modalities/text.h"
#include "perceiver/model/perceiver_io.h"
#include "perceiver/model/query.h"
#include "perceiver/model/recorded.h"

namespace perceiver {

// What the vectors that stand for places start as: the text's positions, the queries for them, and
// the latents.
enum class PlaceInit {
  kRandom,     // as the paper's
  kSinusoids,  // of the place, so that neighbours begin alike; latents are spread over the text
};
constexpr std::array<std::string_view, 2> enum_words(PlaceInit) { return {"random", "sinusoids"}; }

// How the letters (or pieces) of a missing word are told.
enum class FillOrder {
  kAtOnce,       // each from the text alone, as released models were trained to
  kLeftToRight,  // each from the text and the letters before it
  kSurestFirst,  // each from the text and all that are known by now, the surest first
};
constexpr std::array<std::string_view, 3> enum_words(FillOrder) {
  return {"at_once", "left_to_right", "surest_first"};
}

// The defaults are the released bytes model's (Tab. 11).
struct LanguageConfig {
  int64_t vocabulary_size = ByteTokenizer::kVocabularySize;
  int64_t num_inputs = 2048;
  int64_t input_channels = 768;
  EncoderConfig encoder = {.num_latents = 256,
                           .latent_channels = 1280,
                           .num_blocks = 1,
                           .self_attends_per_block = 26,
                           .cross_attend = {.num_heads = 8, .qk_channels = 256, .v_channels = 1280},
                           .self_attend = {.num_heads = 8, .qk_channels = 256, .v_channels = 1280}};
  DecoderConfig decoder = {
      .cross_attend = {
          .num_heads = 8, .qk_channels = 256, .v_channels = 768, .query_residual = false}};
  // Width of the token embeddings at the start of training. 1 is haiku's, and what a forward pass
  // of an untrained model shows; the tied logits then start as wide as sqrt(C).
  double token_init_scale = 1.0;
  PlaceInit place_init = PlaceInit::kRandom;
  FillOrder fill_order = FillOrder::kAtOnce;
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, LanguageConfig& c) {
  visit({"vocabulary_size", "Tokens the tokenizer knows; of bytes: 262"}, c.vocabulary_size,
        at_least(1));
  visit({"num_inputs", "Tokens the model reads at once (M), and as many queries"}, c.num_inputs,
        at_least(1));
  visit({"input_channels",
         "Channels of an input element (C), and of the queries: the tied embedding reads the "
         "outputs"},
        c.input_channels, at_least(1));
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
  visit({"token_init_scale",
         "Width of the token vectors at the start of training, in multiples of the usual"},
        c.token_init_scale, at_least(0.0));
  visit({"place_init",
         "What the vectors of places start as: random, as the paper's, or sinusoids, so that "
         "neighbours begin alike"},
        c.place_init);
  visit(
      {"fill_order",
       "How 'fill' has the letters of a missing word told: each from the text alone, or one after "
       "another from those that are known, for models that were shown parts of words "
       "(data.parts_shown)"},
      c.fill_order);
  visit(kSemanticsKey, c.semantics);
}

class LanguageImpl : public torch::nn::Module {
 public:
  explicit LanguageImpl(const LanguageConfig& config);

  // ids [B, m] with m at most M, mask [B, m] (true: there is a token) -> latents [B, N, D]
  Tensor encode(const Tensor& ids, const Tensor& mask = {});

  // latents [B, N, D], positions [O] or [B, O], query_mask [B, O] -> logits [B, O, vocabulary].
  // Only what is asked for is computed. Positions are as TextInput's ids: checked on the CPU.
  Tensor decode(const Tensor& latents, const Tensor& positions, const Tensor& query_mask = {});

  // ids [B, m], mask [B, m] -> logits [B, m, vocabulary]. The mask is the queries' too.
  Tensor forward(const Tensor& ids, const Tensor& mask = {});

  const LanguageConfig& config() const { return config_; }
  ModelSummary summary() const { return summary(config_.num_inputs); }  // of all M positions
  ModelSummary summary(int64_t num_queries) const;

 private:
  void start_as_sinusoids();
  Tensor logits(const Tensor& latents, const Array& queries, const Tensor& query_mask);

  LanguageConfig config_;
  TextInput input_{nullptr};
  Encoder encoder_{nullptr};
  LearnedQuery query_{nullptr};
  Decoder decoder_{nullptr};
  Tensor bias_;  // [vocabulary]
  RecordedForward recorded_;
};
TORCH_MODULE(Language);

}  // namespace perceiver
