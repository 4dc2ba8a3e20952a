// The units of a game as elements of an array, and what AlphaStar makes of them (paper, App. B).
#pragma once

#include "perceiver/core/config.h"
#include "perceiver/model/summary.h"
#include "perceiver/nn/layers.h"

namespace perceiver {

constexpr int64_t kMostSelected = 64;  // AlphaStar's own limit

struct EntityConfig {
  int64_t num_entities = 512;
  int64_t num_types = 256;
  int64_t num_owners = 4;
  std::vector<std::string> features = {"x", "y", "birth_frame", "finished"};
  int64_t output_channels = 256;
  int64_t pointer_channels = 128;
  int64_t max_selected = 16;
};

template <typename Visitor>
void fields(Visitor& visit, EntityConfig& c) {
  visit({"num_entities", "Slots for units, buildings and minerals (M); those not used are masked"},
        c.num_entities, at_least(1));
  visit({"num_types", "Types of units, buildings and minerals"}, c.num_types, at_least(1));
  visit({"num_owners", "Kinds of owner: nobody, the player, an ally, an enemy"}, c.num_owners,
        at_least(1));
  visit({"features",
         "What is known of an entity beside type and owner: any of x, y, birth_frame, finished, "
         "health, shield, energy, build_progress"},
        c.features);
  visit({"output_channels", "Channels of the embedding of each entity and of all"},
        c.output_channels, at_least(1));
  visit({"pointer_channels", "Channels of the pointer's query and keys"}, c.pointer_channels,
        at_least(1));
  visit({"max_selected", "Most entities that the pointer selects one after another"},
        c.max_selected, between(1, kMostSelected));
}

// The last dimension of an array of entities: two indices, then EntityConfig::features.
enum EntityFeature : int64_t { kType, kOwner, kFirstScalar };

// Whose an entity is, seen by one player: AlphaStar's alliance.
enum EntityOwner : int64_t { kNobody, kOwn, kAlly, kEnemy, kNumEntityOwners };

// What a feature is multiplied with to be about [0, 1] in real games. Fails for one that is not
// known, or is listed twice.
std::vector<double> feature_scales(const std::vector<std::string>& features);

inline int64_t num_features(const EntityConfig& c) { return kFirstScalar + std::ssize(c.features); }

// The type that stands for one that is not shown: one more than there are.
inline int64_t hidden_type(const EntityConfig& c) { return c.num_types; }

// entities [B, M, F], mask [B, M]: fails unless they fit the config. Reads values: at the border
// alone, never in a recorded pass.
void check_entities(const Tensor& entities, const Tensor& mask, const EntityConfig& config);

// Vectors of types and owners, and a linear layer of the other features, added.
class EntityInputImpl : public torch::nn::Module {
 public:
  EntityInputImpl(const EntityConfig& config, int64_t channels);

  // [B, M, F], mask [B, M] -> [B, M, C]. What stands in a masked slot does not matter.
  Tensor forward(const Tensor& entities, const Tensor& mask);

  std::vector<Part> parts(int64_t num_entities) const;

 private:
  Embedding type_{nullptr}, owner_{nullptr};
  Linear scalars_{nullptr};
  std::vector<double> scales_;
};
TORCH_MODULE(EntityInput);

struct EntityEncoding {
  Tensor entity_embeddings;  // [B, M, output_channels]
  Tensor embedded_entity;    // [B, output_channels]: of the entities together
};

class EntityHeadsImpl : public torch::nn::Module {
 public:
  EntityHeadsImpl(int64_t channels, const EntityConfig& config);

  // outputs [B, M, E], mask [B, M]
  EntityEncoding forward(const Tensor& outputs, const Tensor& mask);

  std::vector<Part> parts(int64_t num_entities) const;  // "heads"

 private:
  Linear entity_embeddings_{nullptr}, embedded_entity_{nullptr};
};
TORCH_MODULE(EntityHeads);

}  // namespace perceiver
