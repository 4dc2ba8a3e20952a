// The units of a game as elements of an array, and what AlphaStar makes of them (paper, App. B).
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/model/summary.h"
#include "perceiver/nn/layers.h"

namespace perceiver {

struct EntityConfig {
  int64_t num_entities = 512;
  int64_t num_types = 256;
  int64_t num_owners = 16;
  int64_t output_channels = 256;
  int64_t pointer_channels = 128;
};

template <typename Visitor>
void fields(Visitor& visit, EntityConfig& c) {
  visit({"num_entities", "Slots for units, buildings and minerals (M); those not used are masked"},
        c.num_entities, at_least(1));
  visit({"num_types", "Types of units, buildings and minerals"}, c.num_types, at_least(1));
  visit({"num_owners", "Players, and nobody"}, c.num_owners, at_least(1));
  visit({"output_channels", "Channels of the embedding of each entity and of all"},
        c.output_channels, at_least(1));
  visit({"pointer_channels", "Channels of the pointer's query and keys"}, c.pointer_channels,
        at_least(1));
}

// What is known of an entity, in the order of the last dimension of an array of them.
enum EntityFeature : int64_t {
  kType,        // index
  kOwner,       // index; 0: nobody
  kX,           // in cells of the map
  kY,           // in cells of the map
  kBirthFrame,  // frames since the game began
  kFinished,    // 0 while being built, else 1
  kNumEntityFeatures
};

// entities [B, M, 6], mask [B, M]: fails unless they fit the config. -> entities with zeros in
// every masked slot, whatever stood there.
Tensor checked_entities(const Tensor& entities, const Tensor& mask, const EntityConfig& config);

// Vectors of types and owners, and a linear layer of the other features, added.
class EntityInputImpl : public torch::nn::Module {
 public:
  EntityInputImpl(const EntityConfig& config, int64_t channels);

  Tensor forward(const Tensor& entities);  // [B, M, 6] -> [B, M, C]

  std::vector<Part> parts(int64_t num_entities) const;

 private:
  Embedding type_{nullptr}, owner_{nullptr};
  Linear scalars_{nullptr};
};
TORCH_MODULE(EntityInput);

struct EntityEncoding {
  Tensor entity_embeddings;  // [B, M, output_channels]
  Tensor embedded_entity;    // [B, output_channels]: of the entities together
  Tensor pointer_logits;     // [B, M]: which entity to select; -inf where there is none
};

class EntityHeadsImpl : public torch::nn::Module {
 public:
  EntityHeadsImpl(int64_t channels, const EntityConfig& config);

  // outputs [B, M, E], mask [B, M]
  EntityEncoding forward(const Tensor& outputs, const Tensor& mask);

  std::vector<Part> parts(int64_t num_entities) const;  // "heads" and "pointer"

 private:
  Linear entity_embeddings_{nullptr}, embedded_entity_{nullptr};
  Linear pointer_query_{nullptr}, pointer_keys_{nullptr};
};
TORCH_MODULE(EntityHeads);

}  // namespace perceiver
