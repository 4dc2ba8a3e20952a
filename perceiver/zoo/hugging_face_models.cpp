#include "perceiver/zoo/hugging_face_models.h"

#include "perceiver/zoo/settings.h"

namespace perceiver {
namespace {

EncoderConfig encoder_of(const Keys& keys) {
  const std::string shape = keys.text("cross_attention_shape_for_attention", "kv");
  if (shape != "kv" && shape != "q") {
    fail("{}: 'cross_attention_shape_for_attention' must be \"kv\" or \"q\", got \"{}\"",
         keys.name(), shape);
  }
  const auto qk = keys.optional_integer("qk_channels"), v = keys.optional_integer("v_channels");
  const double dropout = keys.number("attention_probs_dropout_prob", 0.1);
  return {.num_latents = keys.integer("num_latents", 256),
          .latent_channels = keys.integer("d_latents", 1280),
          .num_blocks = keys.integer("num_blocks", 1),
          .self_attends_per_block = keys.integer("num_self_attends_per_block", 26),
          .cross_attend = {.num_heads = keys.integer("num_cross_attention_heads", 8),
                           .qk_channels = qk,
                           .v_channels = v,
                           .shape_for_attn = shape == "kv" ? ShapeForAttn::kKv : ShapeForAttn::kQ,
                           .widening_factor = keys.integer("cross_attention_widening_factor", 1),
                           .query_residual = keys.boolean("use_query_residual", true),
                           .attention_dropout = dropout},
          .self_attend = {.num_heads = keys.integer("num_self_attention_heads", 8),
                          .qk_channels = qk,
                          .v_channels = v,
                          .widening_factor = keys.integer("self_attention_widening_factor", 1),
                          .attention_dropout = dropout}};
}

Semantics semantics_of(const Keys& keys) {
  Semantics semantics = kHuggingFace;
  const std::string activation = keys.text("hidden_act", "gelu");
  if (activation == "gelu_pytorch_tanh" || activation == "gelu_new") {
    semantics.gelu = Gelu::kTanh;
  } else if (activation != "gelu") {
    fail("{}: 'hidden_act' must be \"gelu\", \"gelu_pytorch_tanh\" or \"gelu_new\", got \"{}\"",
         keys.name(), activation);
  }
  return semantics;
}

// transformers writes the labels' names, and counts them.
int64_t num_labels(const Keys& keys) {
  if (keys.has("id2label") && keys.json()["id2label"].is_object()) {
    return std::max<int64_t>(1, static_cast<int64_t>(keys.json()["id2label"].size()));
  }
  return keys.integer("num_labels", 2);
}

AttendConfig one_head(const Keys& keys, bool query_residual) {
  return {.num_heads = 1,
          .query_residual = query_residual,
          .attention_dropout = keys.number("attention_probs_dropout_prob", 0.1)};
}

}  // namespace

LanguageConfig language_of(const Keys& keys) {
  const int64_t channels = keys.integer("d_model", 768);
  return {.vocabulary_size = keys.integer("vocab_size", 262),
          .num_inputs = keys.integer("max_position_embeddings", 2048),
          .input_channels = channels,
          .encoder = encoder_of(keys),
          .decoder = {.cross_attend = {.num_heads = 8,
                                       .qk_channels = 8 * 32,
                                       .v_channels = channels,
                                       .query_residual = false,
                                       .attention_dropout =
                                           keys.number("attention_probs_dropout_prob", 0.1)}},
          .semantics = semantics_of(keys)};
}

TextClassifierConfig text_classifier_of(const Keys& keys) {
  return {.vocabulary_size = keys.integer("vocab_size", 262),
          .num_inputs = keys.integer("max_position_embeddings", 2048),
          .input_channels = keys.integer("d_model", 768),
          .num_classes = num_labels(keys),
          .encoder = encoder_of(keys),
          .decoder = {.cross_attend = one_head(keys, /*query_residual=*/true)},
          .semantics = semantics_of(keys)};
}

ImageNetConfig image_of(const Keys& keys, ImageInput input) {
  ImageNetConfig c;
  c.input = input;
  c.image_size = input == ImageInput::kLearned ? keys.integer("image_size", 56) : 224;
  c.max_resolution = input == ImageInput::kConv ? 56 : 224;
  c.content_channels = input == ImageInput::kLearned ? 256 : 64;
  c.num_classes = num_labels(keys);
  c.encoder = encoder_of(keys);
  c.query_channels = c.encoder.latent_channels;
  c.decoder.cross_attend = one_head(keys, /*query_residual=*/true);
  c.semantics = semantics_of(keys);
  return c;
}

OpticalFlowConfig flow_of(const Keys& keys) {
  const std::vector<int64_t> size = keys.integers("train_size", {368, 496});
  OpticalFlowConfig c;
  c.height = size[0];
  c.width = size[1];
  c.encoder = encoder_of(keys);
  c.decoder.cross_attend = one_head(keys, /*query_residual=*/false);
  c.semantics = semantics_of(keys);
  return c;
}

MultimodalConfig multimodal_of(const Keys& keys) {
  const std::vector<int64_t> output = keys.integers("output_shape", {1, 16, 224, 224});
  const int64_t frames = keys.integer("num_frames", 16), size = keys.integer("image_size", 56);
  MultimodalConfig c;
  c.num_frames = frames;
  c.image_size = output[3];
  c.samples_per_frame = keys.integer("audio_samples_per_frame", 1920);
  c.samples_per_patch = keys.integer("samples_per_patch", 16);
  c.max_resolution = {frames, size, size};
  c.num_classes = num_labels(keys);
  c.label_query_channels = keys.integer("_label_trainable_num_channels", 1024);
  c.output_channels = keys.integer("output_num_channels", 512);
  c.train_queries = fitting_train_queries(c);
  c.encoder = encoder_of(keys);
  c.decoder.cross_attend = one_head(keys, /*query_residual=*/false);
  c.semantics = semantics_of(keys);
  return c;
}

}  // namespace perceiver
