#include "perceiver/tasks/starcraft/entities.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"

namespace perceiver {

namespace {

struct ScaledFeature {
  std::string_view name;
  double scale;
};

// Cells of a map, frames of a game and points of a unit, at their most in real games.
constexpr ScaledFeature kFeatures[] = {
    {"x", 1.0 / 256},      {"y", 1.0 / 256},        {"birth_frame", 1.0 / 65'536},
    {"finished", 1.0},     {"health", 1.0 / 1024},  {"shield", 1.0 / 1024},
    {"energy", 1.0 / 256}, {"build_progress", 1.0},
};

std::string known_features() {
  std::string names;
  for (const ScaledFeature& feature : kFeatures) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", feature.name);
  }
  return names;
}

}  // namespace

std::vector<double> feature_scales(const std::vector<std::string>& features) {
  std::vector<double> scales;
  for (size_t i = 0; i < features.size(); ++i) {
    const auto found = std::ranges::find(kFeatures, features[i], &ScaledFeature::name);
    if (found == std::end(kFeatures)) {
      fail("model.entities.features: '{}' is not known, expected some of {}", features[i],
           known_features());
    }
    if (std::find(features.begin(), features.begin() + static_cast<int64_t>(i), features[i]) !=
        features.begin() + static_cast<int64_t>(i)) {
      fail("model.entities.features: has '{}' twice", features[i]);
    }
    scales.push_back(found->scale);
  }
  if (scales.empty()) {
    fail("model.entities.features: is empty, expected some of {}", known_features());
  }
  return scales;
}

static void check_indices(const Tensor& indices, int64_t count, std::string_view what) {
  const Tensor inside = (indices >= 0).logical_and(indices < count);  // false for NaN
  const Tensor outside = indices.masked_select(inside.logical_not());
  if (outside.numel() > 0) {
    fail("{} {} is not among the model's {}", what, outside[0].item<double>(), count);
  }
}

void check_entities(const Tensor& entities, const Tensor& mask, const EntityConfig& config) {
  check_shape(entities, {kAny, config.num_entities, num_features(config)}, "entities");
  check_shape(mask, {entities.size(0), config.num_entities}, "mask");
  const Tensor present = entities.masked_fill(mask.logical_not().unsqueeze(-1), 0.0);
  check_indices(present.select(-1, kType), config.num_types + 1, "entity type");
  check_indices(present.select(-1, kOwner), config.num_owners, "owner");
}

// Embeddings start as haiku's: as strong as the scalars beside them.
EntityInputImpl::EntityInputImpl(const EntityConfig& config, int64_t channels)
    : type_(register_module("type",
                            Embedding(config.num_types + 1, channels, truncated_normal(1.0)))),
      owner_(
          register_module("owner", Embedding(config.num_owners, channels, truncated_normal(1.0)))),
      scalars_(register_module("scalars", Linear(std::ssize(config.features), channels))),
      scales_(feature_scales(config.features)) {}

Tensor EntityInputImpl::forward(const Tensor& entities, const Tensor& mask) {
  const Tensor present = entities.masked_fill(mask.logical_not().unsqueeze(-1), 0.0);
  // Scaled one by one: a tensor of the scales would be copied to the device in each pass.
  std::vector<Tensor> scalars;
  for (size_t i = 0; i < scales_.size(); ++i) {
    scalars.push_back(present.select(-1, kFirstScalar + static_cast<int64_t>(i)) * scales_[i]);
  }
  return type_(present.select(-1, kType).to(at::kLong)) +
         owner_(present.select(-1, kOwner).to(at::kLong)) + scalars_(at::stack(scalars, -1));
}

std::vector<Part> EntityInputImpl::parts(int64_t num_entities) const {
  return {{.name = "type", .parameters = num_parameters(*type_)},
          {.name = "owner", .parameters = num_parameters(*owner_)},
          {.name = "scalars",
           .parameters = num_parameters(*scalars_),
           .flops = scalars_->flops(num_entities)}};
}

EntityHeadsImpl::EntityHeadsImpl(int64_t channels, const EntityConfig& config)
    : entity_embeddings_(
          register_module("entity_embeddings", Linear(channels, config.output_channels))),
      embedded_entity_(
          register_module("embedded_entity", Linear(channels, config.output_channels))) {}

EntityEncoding EntityHeadsImpl::forward(const Tensor& outputs, const Tensor& mask) {
  const Tensor embeddings = entity_embeddings_(outputs.relu());
  const Tensor weights = mask.unsqueeze(-1).to(outputs.dtype());  // [B, M, 1]
  // The mean of the entities there are; zeros when there are none.
  const Tensor mean = (outputs * weights).sum(1) / weights.sum(1).clamp_min(1.0);
  const Tensor embedded = embedded_entity_(mean).relu();
  return {.entity_embeddings = embeddings, .embedded_entity = embedded};
}

std::vector<Part> EntityHeadsImpl::parts(int64_t num_entities) const {
  return {{.name = "heads",
           .parameters = num_parameters(*entity_embeddings_) + num_parameters(*embedded_entity_),
           .flops = entity_embeddings_->flops(num_entities) + embedded_entity_->flops(1)}};
}

}  // namespace perceiver
