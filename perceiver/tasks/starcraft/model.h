// Perceiver IO as the entity encoder of a StarCraft II agent (paper, App. B): a set of entities in,
// an embedding of each and of all together out.
#pragma once

#include "perceiver/model/perceiver_io.h"
#include "perceiver/tasks/starcraft/objectives.h"

namespace perceiver {

// The paper gives N and the layers; the channels are the least forced ones that cost its 0.93B
// FLOPs. Its own do not: 256 and 128 in Tab. 5, 128 and 128 in Tab. 6, and D as on ImageNet.
struct StarCraftConfig {
  EntityConfig entities = {};
  int64_t input_channels = 128;
  int64_t query_channels = 256;
  EncoderConfig encoder = {
      .num_latents = 32, .latent_channels = 512, .num_blocks = 1, .self_attends_per_block = 3};
  DecoderConfig decoder = {};
  Semantics semantics = {};
};

template <typename Visitor>
void fields(Visitor& visit, StarCraftConfig& c) {
  visit({"entities", "What a state of the game holds"}, c.entities);
  visit({"input_channels", "Channels of an input element (C)"}, c.input_channels, at_least(1));
  visit({"query_channels", "Channels of the queries (Q), and so of the outputs"}, c.query_channels,
        at_least(1));
  visit(kEncoderKey, c.encoder);
  visit(kDecoderKey, c.decoder);
  visit(kSemanticsKey, c.semantics);
}

class StarCraftImpl : public torch::nn::Module {
 public:
  explicit StarCraftImpl(const StarCraftConfig& config);

  // entities [B, M, F] as EntityFeature says, mask [B, M] (true: there is an entity). The first
  // checks them, and so reads them; the second trusts.
  EntityEncoding forward(const Tensor& entities, const Tensor& mask);
  EntityEncoding encode(const Tensor& entities, const Tensor& mask);

  EntityObjectivesImpl& objectives() { return *objectives_; }

  ModelSummary summary() const;

 private:
  StarCraftConfig config_;
  EntityInput input_{nullptr}, query_{nullptr};  // the same features, as input and as query
  Encoder encoder_{nullptr};
  Decoder decoder_{nullptr};
  EntityHeads heads_{nullptr};
  EntityObjectives objectives_{nullptr};
};
TORCH_MODULE(StarCraft);

}  // namespace perceiver
