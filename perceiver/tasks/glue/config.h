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
  int64_t cls_id = ByteTokenizer::kCls;
  int64_t num_inputs = 2048;
  int64_t input_channels = 768;
  int64_t query_channels = 768;
  EncoderConfig encoder = {.num_latents = 256,
                           .latent_channels = 1280,
                           .num_blocks = 1,
                           .self_attends_per_block = 26,
                           .cross_attend = {.num_heads = 8, .qk_channels = 256, .v_channels = 1280},
                           .self_attend = {.num_heads = 8, .qk_channels = 256, .v_channels = 1280}};
  DecoderConfig decoder = {
      .cross_attend = {
          .num_heads = 8, .qk_channels = 256, .v_channels = 768, .query_residual = false}};
  double token_init_scale = 1.0;
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, GlueConfig& c) {
  visit({"variant",
         "How a task is asked for (Tab. 2): one task and query; a query for each task; [CLS] "
         "before the text; a token for each task before the text"},
        c.variant);
  visit({"tasks", "GLUE's tasks that the model answers"}, c.tasks);
  visit({"vocabulary_size", "Tokens the tokenizer knows"}, c.vocabulary_size, at_least(1));
  visit({"cls_id", "variant shared_token: the token before the text"}, c.cls_id, at_least(0));
  visit({"num_inputs", "Tokens the model reads at once (M), with the one before the text"},
        c.num_inputs, at_least(2));
  visit({"input_channels", "Channels of an input element (C)"}, c.input_channels, at_least(1));
  visit({"query_channels", "Channels of the queries, and hidden channels of the heads"},
        c.query_channels, at_least(1));
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
  visit({"token_init_scale",
         "Width of the token vectors at the start of training, in multiples of the usual"},
        c.token_init_scale, at_least(0.0));
  visit(kSemanticsKey, c.semantics);
}

}  // namespace perceiver
