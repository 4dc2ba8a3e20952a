#include "perceiver/zoo/hugging_face.h"

#include "perceiver/zoo/json_keys.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {
namespace {

using Json = Keys::Json;

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

template <typename ModelConfig>
std::string written(const std::string& task, const ModelConfig& model) {
  return to_toml(Settings<ModelConfig>{task, model});
}

std::string settings_of(const std::string& architecture, const Keys& keys) {
  if (architecture == "PerceiverForMaskedLM") return written("language", language_of(keys));
  if (architecture == "PerceiverForSequenceClassification") {
    return written("text_classifier", text_classifier_of(keys));
  }
  if (architecture == "PerceiverForImageClassificationLearned") {
    return written("imagenet", image_of(keys, ImageInput::kLearned));
  }
  if (architecture == "PerceiverForImageClassificationFourier") {
    return written("imagenet", image_of(keys, ImageInput::kFourier));
  }
  if (architecture == "PerceiverForImageClassificationConvProcessing") {
    return written("imagenet", image_of(keys, ImageInput::kConv));
  }
  if (architecture == "PerceiverForOpticalFlow") return written("optical_flow", flow_of(keys));
  if (architecture == "PerceiverForMultimodalAutoencoding") {
    return written("multimodal", multimodal_of(keys));
  }
  fail("{}: unknown architecture '{}'; expected one of transformers' PerceiverFor… classes",
       keys.name(), architecture);
}

void put_encoder(Json& json, const EncoderConfig& c) {
  json["num_latents"] = c.num_latents;
  json["d_latents"] = c.latent_channels;
  json["num_blocks"] = c.num_blocks;
  json["num_self_attends_per_block"] = c.self_attends_per_block;
  json["num_self_attention_heads"] = c.self_attend.num_heads;
  json["num_cross_attention_heads"] = c.cross_attend.num_heads;
  const auto or_null = [](const std::optional<int64_t>& value) {
    return value ? Json(*value) : Json();
  };
  json["qk_channels"] = or_null(c.cross_attend.qk_channels);
  json["v_channels"] = or_null(c.cross_attend.v_channels);
  json["cross_attention_shape_for_attention"] = to_word(c.cross_attend.shape_for_attn);
  json["self_attention_widening_factor"] = c.self_attend.widening_factor;
  json["cross_attention_widening_factor"] = c.cross_attend.widening_factor;
  json["attention_probs_dropout_prob"] = c.cross_attend.attention_dropout;
  json["use_query_residual"] = c.cross_attend.query_residual;
}

void put_labels(Json& json, int64_t count, const std::vector<std::string>& labels) {
  for (int64_t i = 0; i < count; ++i) {
    const bool named = i < static_cast<int64_t>(labels.size());
    const std::string label = named ? labels[i] : fmt::format("LABEL_{}", i);
    json["id2label"][std::to_string(i)] = label;
    json["label2id"][label] = i;
  }
}

std::string put(Json& json, const LanguageConfig& c) {
  json["vocab_size"] = c.vocabulary_size;
  json["max_position_embeddings"] = c.num_inputs;
  json["d_model"] = c.input_channels;
  return "PerceiverForMaskedLM";
}

std::string put(Json& json, const TextClassifierConfig& c) {
  json["vocab_size"] = c.vocabulary_size;
  json["max_position_embeddings"] = c.num_inputs;
  json["d_model"] = c.input_channels;
  return "PerceiverForSequenceClassification";
}

std::string put(Json& json, const ImageNetConfig& c) {
  switch (c.input) {
    case ImageInput::kFourier:
      json["d_model"] = 3 + fourier_channels(2, c.num_bands);
      return "PerceiverForImageClassificationFourier";
    case ImageInput::kConv:
      json["d_model"] = c.content_channels + fourier_channels(2, c.num_bands);
      return "PerceiverForImageClassificationConvProcessing";
    case ImageInput::kPatches:  // which no class of theirs classifies: this one is the nearest
      json["d_model"] = 3 * c.patch_size * c.patch_size + fourier_channels(2, c.num_bands);
      return "PerceiverForImageClassificationFourier";
    case ImageInput::kLearned:
      break;
  }
  json["d_model"] = c.content_channels + c.position_channels;
  json["image_size"] = c.image_size;
  return "PerceiverForImageClassificationLearned";
}

std::string put(Json& json, const OpticalFlowConfig& c) {
  json["d_model"] = c.patch_channels + fourier_channels(2, c.num_bands);
  json["train_size"] = {c.height, c.width};
  return "PerceiverForOpticalFlow";
}

std::string put(Json& json, const MultimodalConfig& c) {
  const int64_t image =
      3 * c.patch.frames * c.patch.height * c.patch.width + fourier_channels(3, c.num_image_bands);
  const int64_t audio = c.samples_per_patch + fourier_channels(1, c.num_audio_bands);
  json["d_model"] = std::max({image, audio, c.num_classes}) + 4;
  json["num_frames"] = c.num_frames;
  json["image_size"] =
      c.max_resolution.size() == 3 ? c.max_resolution[2] : c.image_size / c.patch.width;
  json["audio_samples_per_frame"] = c.samples_per_frame;
  json["samples_per_patch"] = c.samples_per_patch;
  json["output_shape"] = {1, c.num_frames, c.image_size, c.image_size};
  json["output_num_channels"] = c.output_channels;
  json["_label_trainable_num_channels"] = c.label_query_channels;
  return "PerceiverForMultimodalAutoencoding";
}

// The settings that decide which tensors there are and what they mean. What decides how a reference
// computes with them travels in our own key.
template <typename ModelConfig>
std::string shape_of(Settings<ModelConfig> settings) {
  settings.model.semantics = {};
  settings.model.decoder.cross_attend.query_residual = true;
  settings.model.decoder.cross_attend.attention_dropout = 0.0;
  settings.model.encoder.cross_attend.dropout = settings.model.encoder.self_attend.dropout = 0.0;
  settings.model.encoder.self_attend.attention_dropout = 0.0;
  settings.model.encoder.cross_attend.attention_dropout = 0.0;
  if constexpr (requires { settings.model.token_init_scale; }) settings.model.token_init_scale = 1;
  if constexpr (requires { settings.model.decode_slice; }) settings.model.decode_slice = 1;
  if constexpr (requires { settings.model.train_queries; }) settings.model.train_queries = {};
  if constexpr (requires {
                  settings.model.image_size;
                  settings.model.decode_by;
                }) {
    // Only learned positions know the picture's size.
    if (settings.model.input != ImageInput::kLearned) settings.model.image_size = 1;
    if (settings.model.input == ImageInput::kFourier) settings.model.content_channels = 1;
    if (settings.model.input == ImageInput::kLearned) settings.model.max_resolution = 1;
    if (settings.model.input != ImageInput::kLearned) settings.model.position_channels = 1;
    if (settings.model.input != ImageInput::kPatches) settings.model.patch_size = 1;
  }
  return to_toml(settings);
}

}  // namespace

std::string settings_of_config_json(const File& file) {
  const Keys keys(file);
  if (keys.has("perceiver")) {
    const Json& own = keys.json()["perceiver"];
    if (!own.is_object() || !own.contains("settings") || !own["settings"].is_string()) {
      fail("{}: 'perceiver' must be an object with a string 'settings'", file.name);
    }
    return own["settings"].get<std::string>();
  }
  const std::string type = keys.text("model_type", "");
  if (type != "perceiver") {
    fail("{}: 'model_type' must be \"perceiver\", got \"{}\"", file.name, type);
  }
  const Json& json = keys.json();
  if (!keys.has("architectures") || !json["architectures"].is_array() ||
      json["architectures"].empty() || !json["architectures"][0].is_string()) {
    fail("{}: 'architectures' must name the model's class", file.name);
  }
  return settings_of(json["architectures"][0].get<std::string>(), keys);
}

Reference origin_of_config_json(const File& file) {
  const Keys keys(file);
  if (!keys.has("perceiver")) return Reference::kHuggingFace;
  const Json& own = keys.json()["perceiver"];
  const std::string_view deepmind = to_word(Reference::kDeepMind);
  return own.is_object() && own.contains("origin") && own["origin"] == deepmind
             ? Reference::kDeepMind
             : Reference::kHuggingFace;
}

std::vector<std::string> labels_of_config_json(const File& file) {
  const Keys keys(file);
  std::vector<std::string> labels;
  if (!keys.has("id2label") || !keys.json()["id2label"].is_object()) return labels;
  const Json& names = keys.json()["id2label"];
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string index = std::to_string(i);
    if (!names.contains(index) || !names[index].is_string()) return {};
    labels.push_back(names[index].get<std::string>());
  }
  return labels;
}

ConfigJson config_json_of_settings(const File& settings, const ConfigJsonExtras& extras) {
  return with_settings(settings, {}, [&](const auto& s) -> ConfigJson {
    Json json;
    json["model_type"] = "perceiver";
    json["architectures"] = Json::array();
    json["dtype"] = extras.dtype;
    json["perceiver"]["origin"] = to_word(extras.origin);
    json["perceiver"]["settings"] = to_toml(s);
    if constexpr (!requires { put(json, s.model); }) {
      json["architectures"].push_back("perceiver:" + s.task);
      return {json.dump(2) + "\n", /*transformers=*/false};
    } else {
      put_encoder(json, s.model.encoder);
      const std::string architecture = put(json, s.model);
      if constexpr (requires { s.model.num_classes; }) {
        put_labels(json, s.model.num_classes, extras.labels);
      }
      json["hidden_act"] = s.model.semantics.gelu == Gelu::kTanh ? "gelu_pytorch_tanh" : "gelu";

      // transformers has this model if what it makes of these keys is what we started from.
      json["architectures"].push_back(architecture);
      const File back{"config.json", json.dump()};
      const File read{"config.json", settings_of(architecture, Keys(back))};
      using Same = std::decay_t<decltype(s)>;
      const bool transformers = shape_of(read_config<Same>(read)) == shape_of(s);
      if (!transformers) json["architectures"][0] = "perceiver:" + s.task;
      return {json.dump(2) + "\n", transformers};
    }
  });
}

}  // namespace perceiver
