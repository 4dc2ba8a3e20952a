#include "perceiver/tasks/starcraft/alphastar_transformer.h"

#include "perceiver/core/error.h"

namespace perceiver {

static Transformer transformer(const AlphaStarTransformerConfig& config) {
  try {
    return Transformer(config.input_channels, config.transformer);
  } catch (const Error& e) {
    fail("transformer: {}", e.what());
  }
}

AlphaStarTransformerImpl::AlphaStarTransformerImpl(const AlphaStarTransformerConfig& config)
    : config_(config),
      input_(register_module("input", EntityInput(config.entities, config.input_channels))),
      encoder_(register_module("encoder", transformer(config))),
      heads_(register_module("heads", EntityHeads(config.input_channels, config.entities))),
      objectives_(register_module("objectives", EntityObjectives(config.entities))) {}

EntityEncoding AlphaStarTransformerImpl::forward(const Tensor& entities, const Tensor& mask) {
  check_entities(entities, mask, config_.entities);
  return encode(entities, mask);
}

EntityEncoding AlphaStarTransformerImpl::encode(const Tensor& entities, const Tensor& mask) {
  return heads_(encoder_(input_(entities, mask), mask), mask);
}

ModelSummary AlphaStarTransformerImpl::summary() const {
  const int64_t m = config_.entities.num_entities, c = config_.input_channels;
  ModelSummary s{.inputs = {m, c}, .latents = {}, .queries = {}, .outputs = {m, c}};
  s.add("input.", input_->parts(m));
  int64_t i = 0;
  for (const TransformerLayer& layer : encoder_->layers()) {
    s.add("encoder.", {{.name = "layer_" + std::to_string(i++),
                        .parameters = num_parameters(*layer),
                        .flops = layer->flops(m),
                        .attention = layer->attention_case(m)}});
  }
  s.add("", heads_->parts(m));
  s.add("", objectives_->parts(m));
  return s;
}

}  // namespace perceiver
