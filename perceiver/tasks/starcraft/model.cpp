#include "perceiver/tasks/starcraft/model.h"

namespace perceiver {

StarCraftImpl::StarCraftImpl(const StarCraftConfig& config)
    : config_(config),
      input_(register_module("input", EntityInput(config.entities, config.input_channels))),
      query_(register_module("query", EntityInput(config.entities, config.query_channels))),
      encoder_(register_module("encoder",
                               Encoder(config.input_channels, config.encoder, config.semantics))),
      decoder_(register_module(
          "decoder", Decoder(DecoderChannels{config.query_channels, config.encoder.latent_channels},
                             config.decoder, config.semantics))),
      heads_(register_module("heads", EntityHeads(config.query_channels, config.entities))),
      objectives_(register_module("objectives", EntityObjectives(config.entities))) {}

EntityEncoding StarCraftImpl::forward(const Tensor& entities, const Tensor& mask) {
  check_entities(entities, mask, config_.entities);
  return encode(entities, mask);
}

EntityEncoding StarCraftImpl::encode(const Tensor& entities, const Tensor& mask) {
  const Tensor latents = encoder_(input_(entities, mask), mask);
  return heads_(decoder_(latents, query_(entities, mask), mask), mask);
}

ModelSummary StarCraftImpl::summary() const {
  const int64_t m = config_.entities.num_entities;
  // The output array is the decoder's; embeddings are made of it.
  ModelSummary s{.inputs = {m, config_.input_channels},
                 .latents = encoder_->latent_size(),
                 .queries = ArraySize{m, config_.query_channels},
                 .outputs = {m, config_.query_channels}};
  s.add("input.", input_->parts(m));
  s.add("encoder.", encoder_->parts(m));
  s.add("query.", query_->parts(m));
  s.add("decoder.", decoder_->parts(m, s.latents->index));
  s.add("", heads_->parts(m));
  s.add("", objectives_->parts(m));
  return s;
}

}  // namespace perceiver
