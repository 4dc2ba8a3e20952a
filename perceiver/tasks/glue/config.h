#pragma once

#include "perceiver/modalities/text.h"
#include "perceiver/model/config.h"

namespace perceiver {

// The ways of asking that Tab. 2 compares.
enum class GlueVariant {
  kSingle,          // one task, one learned query
  kMultitaskQuery,  // a learned query for each task
  kSharedToken,     // [CLS] before the text, and the query of its position
  kTaskTokens,      // a learned vector for each task before the text, and the query of its position
};
constexpr std::array<std::string_view, 4> enum_words(GlueVariant) {
  return {"single", "multitask_query", "shared_token", "task_tokens"};
}

// The defaults are those of the released bytes model, which is fine-tuned (Tab. 11).
struct GlueConfig {
  GlueVariant variant = GlueVariant::kMultitaskQuery;
  std::vector<std::string> tasks = {"cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"};
  int64_t vocabulary_size = ByteTokenizer::kVocabularySize;
  int64_t cls_id = ByteTokenizer::kCls;  // what kSharedToken puts before the text
  int64_t num_inputs = 2048;             // M, with the token before the text
  int64_t input_channels = 768;          // C
  int64_t query_channels = 768;          // also the heads' hidden channels
  EncoderConfig encoder = {.num_latents = 256,
                           .latent_channels = 1280,
                           .num_blocks = 1,
                           .self_attends_per_block = 26,
                           .cross_attend = {.num_heads = 8, .qk_channels = 256, .v_channels = 1280},
                           .self_attend = {.num_heads = 8, .qk_channels = 256, .v_channels = 1280}};
  DecoderConfig decoder = {
      .cross_attend = {
          .num_heads = 8, .qk_channels = 256, .v_channels = 768, .query_residual = false}};
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, GlueConfig& c) {
  visit("variant", c.variant);
  visit("tasks", c.tasks);
  visit("vocabulary_size", c.vocabulary_size, at_least(1));
  visit("cls_id", c.cls_id, at_least(0));
  visit("num_inputs", c.num_inputs, at_least(2));
  visit("input_channels", c.input_channels, at_least(1));
  visit("query_channels", c.query_channels, at_least(1));
  visit("encoder", c.encoder);
  visit("decoder", c.decoder);
  visit("semantics", c.semantics);
}

}  // namespace perceiver
