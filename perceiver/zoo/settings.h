// A model's settings as TOML: the same text as a config's `task` and `model`. Whatever a model
// comes from, this is what it becomes first.
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "perceiver/core/config.h"
#include "perceiver/nn/semantics.h"
#include "perceiver/tasks/audioset/model.h"
#include "perceiver/tasks/glue/config.h"
#include "perceiver/tasks/imagenet/model.h"
#include "perceiver/tasks/language/bert.h"
#include "perceiver/tasks/language/classifier.h"
#include "perceiver/tasks/language/model.h"
#include "perceiver/tasks/multimodal/model.h"
#include "perceiver/tasks/optical_flow/model.h"
#include "perceiver/tasks/settings.h"
#include "perceiver/tasks/starcraft/alphastar_transformer.h"
#include "perceiver/tasks/starcraft/model.h"

namespace perceiver {

// Calls `use` with the settings of a task: first those that the references know too, then ours.
template <typename Use>
auto with_settings(const File& settings, std::span<const std::string> overrides, const Use& use) {
  const std::string task = read_config_key(settings, "task");
  const auto as = [&]<typename ModelConfig>(std::type_identity<ModelConfig>) {
    return use(read_config<Settings<ModelConfig>>(settings, overrides));
  };
  if (task == "language") return as(std::type_identity<LanguageConfig>{});
  if (task == "text_classifier") return as(std::type_identity<TextClassifierConfig>{});
  if (task == "imagenet") return as(std::type_identity<ImageNetConfig>{});
  if (task == "optical_flow") return as(std::type_identity<OpticalFlowConfig>{});
  if (task == "multimodal") return as(std::type_identity<MultimodalConfig>{});
  if (task == "audioset") return as(std::type_identity<AudioSetConfig>{});
  if (task == "glue") return as(std::type_identity<GlueConfig>{});
  if (task == "starcraft") return as(std::type_identity<StarCraftConfig>{});
  if (task == "alphastar_transformer") return as(std::type_identity<AlphaStarTransformerConfig>{});
  if (task == "bert") return as(std::type_identity<BertConfig>{});
  fail("{}: unknown task '{}'", settings.name, task);
}

// What the model of a config is, every key with its value: its `task` and `model`.
File model_settings(const File& config, std::span<const std::string> overrides = {});

enum class Reference { kDeepMind, kHuggingFace };
constexpr std::array<std::string_view, 2> enum_words(Reference) {
  return {"deepmind", "huggingface"};
}

// What must be set to compute as this reference does: the switches of Semantics, and the query
// residual with learned image positions. Whether a model's GELU is the reference's own is left to
// the model's file where it says so.
std::vector<std::string> semantics_overrides(const File& settings, Reference reference);

// As many queries in training as the paper's, or all there are in a smaller model.
TrainQueries fitting_train_queries(const MultimodalConfig& config);

}  // namespace perceiver
