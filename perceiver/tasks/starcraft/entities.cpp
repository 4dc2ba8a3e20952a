#include "perceiver/tasks/starcraft/entities.h"

#include <ATen/ATen.h>

#include <cmath>

#include "perceiver/core/error.h"

namespace perceiver {

// Bring positions and times of real games to about [0, 1].
constexpr double kMapCells = 256.0, kFrames = 65'536.0;
constexpr int64_t kNumScalars = kNumEntityFeatures - kX;

static void check_indices(const Tensor& indices, int64_t count, std::string_view what) {
  const Tensor inside = (indices >= 0).logical_and(indices < count);  // false for NaN
  const Tensor outside = indices.masked_select(inside.logical_not());
  if (outside.numel() > 0) {
    fail("{} {} is not among the model's {}", what, outside[0].item<double>(), count);
  }
}

Tensor checked_entities(const Tensor& entities, const Tensor& mask, const EntityConfig& config) {
  check_shape(entities, {kAny, config.num_entities, kNumEntityFeatures}, "entities");
  check_shape(mask, {entities.size(0), config.num_entities}, "mask");
  const Tensor present = entities.masked_fill(mask.logical_not().unsqueeze(-1), 0.0);
  check_indices(present.select(-1, kType), config.num_types, "entity type");
  check_indices(present.select(-1, kOwner), config.num_owners, "owner");
  return present;
}

// Embeddings start as haiku's: as strong as the scalars beside them.
EntityInputImpl::EntityInputImpl(const EntityConfig& config, int64_t channels)
    : type_(register_module("type", Embedding(config.num_types, channels, truncated_normal(1.0)))),
      owner_(
          register_module("owner", Embedding(config.num_owners, channels, truncated_normal(1.0)))),
      scalars_(register_module("scalars", Linear(kNumScalars, channels))) {}

Tensor EntityInputImpl::forward(const Tensor& entities) {
  const Tensor scale =
      at::tensor({1 / kMapCells, 1 / kMapCells, 1 / kFrames, 1.0}, entities.options());
  return type_(entities.select(-1, kType).to(at::kLong)) +
         owner_(entities.select(-1, kOwner).to(at::kLong)) +
         scalars_(entities.narrow(-1, kX, kNumScalars) * scale);
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
          register_module("embedded_entity", Linear(channels, config.output_channels))),
      pointer_query_(register_module("pointer_query",
                                     Linear(config.output_channels, config.pointer_channels))),
      pointer_keys_(register_module("pointer_keys",
                                    Linear(config.output_channels, config.pointer_channels))) {}

EntityEncoding EntityHeadsImpl::forward(const Tensor& outputs, const Tensor& mask) {
  const Tensor embeddings = entity_embeddings_(outputs.relu());
  const Tensor weights = mask.unsqueeze(-1).to(outputs.dtype());  // [B, M, 1]
  // The mean of the entities there are; zeros when there are none.
  const Tensor mean = (outputs * weights).sum(1) / weights.sum(1).clamp_min(1.0);
  const Tensor embedded = embedded_entity_(mean).relu();

  const Tensor keys = pointer_keys_(embeddings);                // [B, M, P]
  const Tensor query = pointer_query_(embedded).unsqueeze(-1);  // [B, P, 1]
  const Tensor scores = at::bmm(keys, query).squeeze(-1) / std::sqrt(double(keys.size(-1)));
  return {.entity_embeddings = embeddings,
          .embedded_entity = embedded,
          .pointer_logits = scores.masked_fill(mask.logical_not(), -INFINITY)};
}

std::vector<Part> EntityHeadsImpl::parts(int64_t num_entities) const {
  return {{.name = "heads",
           .parameters = num_parameters(*entity_embeddings_) + num_parameters(*embedded_entity_),
           .flops = entity_embeddings_->flops(num_entities) + embedded_entity_->flops(1)},
          {.name = "pointer",
           .parameters = num_parameters(*pointer_query_) + num_parameters(*pointer_keys_),
           .flops = pointer_query_->flops(1) + pointer_keys_->flops(num_entities) +
                    2 * num_entities * pointer_keys_->weight.size(0)}};
}

}  // namespace perceiver
