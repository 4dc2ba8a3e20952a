#include "perceiver/zoo/hugging_face.h"

#include <type_traits>

#include "perceiver/zoo/hugging_face_models.h"
#include "perceiver/zoo/settings.h"

namespace perceiver {
namespace {

using Json = Keys::Json;

constexpr const char* kLanguage = "PerceiverForMaskedLM";
constexpr const char* kTextClassifier = "PerceiverForSequenceClassification";
constexpr const char* kLearnedImage = "PerceiverForImageClassificationLearned";
constexpr const char* kFourierImage = "PerceiverForImageClassificationFourier";
constexpr const char* kConvImage = "PerceiverForImageClassificationConvProcessing";
constexpr const char* kFlow = "PerceiverForOpticalFlow";
constexpr const char* kMultimodal = "PerceiverForMultimodalAutoencoding";

// Calls use("language", LanguageConfig) with what the class makes of these keys.
template <typename Use>
auto with_model_of(const std::string& architecture, const Keys& keys, const Use& use) {
  if (architecture == kLanguage) return use("language", language_of(keys));
  if (architecture == kTextClassifier) return use("text_classifier", text_classifier_of(keys));
  if (architecture == kLearnedImage) return use("imagenet", image_of(keys, ImageInput::kLearned));
  if (architecture == kFourierImage) return use("imagenet", image_of(keys, ImageInput::kFourier));
  if (architecture == kConvImage) return use("imagenet", image_of(keys, ImageInput::kConv));
  if (architecture == kFlow) return use("optical_flow", flow_of(keys));
  if (architecture == kMultimodal) return use("multimodal", multimodal_of(keys));
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
  return kLanguage;
}

std::string put(Json& json, const TextClassifierConfig& c) {
  json["vocab_size"] = c.vocabulary_size;
  json["max_position_embeddings"] = c.num_inputs;
  json["d_model"] = c.input_channels;
  return kTextClassifier;
}

std::string put(Json& json, const ImageNetConfig& c) {
  switch (c.input) {
    case ImageInput::kFourier:
      json["d_model"] = 3 + fourier_channels(2, c.num_bands);
      return kFourierImage;
    case ImageInput::kConv:
      json["d_model"] = c.content_channels + fourier_channels(2, c.num_bands);
      return kConvImage;
    case ImageInput::kProjected:  // which no class of theirs does: this one is the nearest
      json["d_model"] = c.content_channels + fourier_channels(2, c.num_bands);
      return kFourierImage;
    case ImageInput::kPatches:  // which no class of theirs classifies: this one is the nearest
      json["d_model"] = 3 * c.patch_size * c.patch_size + fourier_channels(2, c.num_bands);
      return kFourierImage;
    case ImageInput::kLearned:
      break;
  }
  json["d_model"] = c.content_channels + c.position_channels;
  json["image_size"] = c.image_size;
  return kLearnedImage;
}

std::string put(Json& json, const OpticalFlowConfig& c) {
  json["d_model"] = c.patch_channels + fourier_channels(2, c.num_bands);
  json["train_size"] = {c.height, c.width};
  return kFlow;
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
  return kMultimodal;
}

// The settings that decide which tensors there are and what they mean. What decides how a reference
// computes with them travels in our own key.
template <typename ModelConfig>
std::string shape_of(ModelConfig model) {
  model.semantics = {};
  model.decoder.cross_attend.query_residual = true;
  model.decoder.cross_attend.attention_dropout = 0.0;
  model.encoder.cross_attend.dropout = model.encoder.self_attend.dropout = 0.0;
  model.encoder.self_attend.attention_dropout = 0.0;
  model.encoder.cross_attend.attention_dropout = 0.0;
  if constexpr (requires { model.token_init_scale; }) model.token_init_scale = 1;
  if constexpr (requires { model.decode_slice; }) model.decode_slice = 1;
  if constexpr (requires { model.train_queries; }) model.train_queries = {};
  if constexpr (requires {
                  model.image_size;
                  model.decode_by;
                }) {
    // Only learned positions know the picture's size.
    if (model.input != ImageInput::kLearned) model.image_size = 1;
    if (model.input == ImageInput::kFourier) model.content_channels = 1;
    if (model.input == ImageInput::kLearned) model.max_resolution = 1;
    if (model.input != ImageInput::kLearned) model.position_channels = 1;
    if (model.input != ImageInput::kPatches) model.patch_size = 1;
  }
  return to_toml(model);
}

// config.json without our own key, and the class that has this model, or the nearest to it.
struct TheirKeys {
  Json json;
  std::string architecture;
};

template <typename ModelConfig>
TheirKeys their_keys(const ModelConfig& model, const std::vector<std::string>& labels) {
  TheirKeys keys;
  put_encoder(keys.json, model.encoder);
  keys.architecture = put(keys.json, model);
  if constexpr (requires { model.num_classes; }) {
    put_labels(keys.json, model.num_classes, labels);
  }
  keys.json["hidden_act"] = model.semantics.gelu == Gelu::kTanh ? "gelu_pytorch_tanh" : "gelu";
  return keys;
}

// transformers has this model if what it makes of these keys is what we started from.
template <typename ModelConfig>
bool have_model(const TheirKeys& keys, const ModelConfig& model) {
  const Keys back({"config.json", keys.json.dump()});
  return with_model_of(keys.architecture, back, [&](const char*, const auto& theirs) {
    if constexpr (std::is_same_v<std::decay_t<decltype(theirs)>, ModelConfig>) {
      return shape_of(theirs) == shape_of(model);
    }
    return false;
  });
}

// Calls use(model) where transformers has a class of this kind.
template <typename Use>
void with_their_model(const Settings& settings, const Use& use) {
  const auto as = [&]<typename ModelConfig>(std::type_identity<ModelConfig>) {
    if (const auto* model = settings.model<ModelConfig>()) use(*model);
  };
  as(std::type_identity<LanguageConfig>{});
  as(std::type_identity<TextClassifierConfig>{});
  as(std::type_identity<ImageNetConfig>{});
  as(std::type_identity<OpticalFlowConfig>{});
  as(std::type_identity<MultimodalConfig>{});
}

// What a folder of ours holds under "perceiver", "weights"; origin_of() reads it.
Json weights_json(const Origin& origin) {
  Json json = {{"from", to_word(origin.weights)}};
  if (!origin.name.empty()) json["name"] = origin.name;
  if (origin.steps > 0) json["steps"] = origin.steps;
  if (!origin.began_as.empty()) json["began_as"] = origin.began_as;
  return json;
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
  return with_model_of(json["architectures"][0].get<std::string>(), keys,
                       [](const char* task, const auto& model) {
                         using ModelConfig = std::decay_t<decltype(model)>;
                         return to_toml(ModelOnly<ModelConfig>{task, model});
                       });
}

Reference reference_of_config_json(const File& file) {
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

std::string transformers_class(const Settings& settings) {
  std::string name;
  with_their_model(settings, [&](const auto& model) {
    const TheirKeys keys = their_keys(model, {});
    if (have_model(keys, model)) name = keys.architecture;
  });
  return name;
}

std::string config_json_of_settings(const Settings& settings, const ConfigJsonExtras& extras) {
  Json json;
  json["model_type"] = "perceiver";
  json["architectures"] = {"perceiver:" + settings.task()};
  json["dtype"] = extras.dtype;
  json["perceiver"]["origin"] = to_word(extras.reference);
  json["perceiver"]["weights"] = weights_json(extras.origin);
  json["perceiver"]["settings"] = settings.model_text();
  with_their_model(settings, [&](const auto& model) {
    const TheirKeys keys = their_keys(model, extras.labels);
    if (have_model(keys, model)) json["architectures"][0] = keys.architecture;
    json.update(keys.json);
  });
  return json.dump(2) + "\n";
}

}  // namespace perceiver
