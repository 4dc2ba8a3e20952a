// AlphaStar's own entity encoder, the Transformer that App. B compares with.
#pragma once

#include "perceiver/nn/transformer.h"
#include "perceiver/tasks/starcraft/objectives.h"

namespace perceiver {

// A feature dimension of 128 is each head's: with 128 for both, 3.3B FLOPs are not reached.
struct AlphaStarTransformerConfig {
  EntityConfig entities = {};
  int64_t input_channels = 256;
  TransformerConfig transformer = {
      .num_layers = 3, .num_heads = 2, .mlp_channels = 1024, .attention_channels = 256};
};

template <typename Visitor>
void fields(Visitor& visit, AlphaStarTransformerConfig& c) {
  visit({"entities", "What a state of the game holds"}, c.entities);
  visit({"input_channels", "Channels of an element (C), through all layers"}, c.input_channels,
        at_least(1));
  visit({"transformer", "The layers between"}, c.transformer);
}

class AlphaStarTransformerImpl : public torch::nn::Module {
 public:
  explicit AlphaStarTransformerImpl(const AlphaStarTransformerConfig& config);

  // entities [B, M, F] as EntityFeature says, mask [B, M] (true: there is an entity). The first
  // checks them, and so reads them; the second trusts.
  EntityEncoding forward(const Tensor& entities, const Tensor& mask);
  EntityEncoding encode(const Tensor& entities, const Tensor& mask);

  EntityObjectivesImpl& objectives() { return *objectives_; }

  ModelSummary summary() const;

 private:
  AlphaStarTransformerConfig config_;
  EntityInput input_{nullptr};
  Transformer encoder_{nullptr};
  EntityHeads heads_{nullptr};
  EntityObjectives objectives_{nullptr};
};
TORCH_MODULE(AlphaStarTransformer);

}  // namespace perceiver
