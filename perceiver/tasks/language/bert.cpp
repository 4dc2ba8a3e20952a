#include "perceiver/tasks/language/bert.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"

namespace perceiver {

static Transformer transformer(const BertConfig& config) {
  try {
    return Transformer(config.input_channels, config.transformer);
  } catch (const Error& e) {
    fail("transformer: {}", e.what());
  }
}

// All of BERT's vectors start narrow, tokens too.
BertImpl::BertImpl(const BertConfig& config)
    : config_(config),
      input_(register_module("input", TextInput(config.vocabulary_size, config.num_inputs,
                                                config.input_channels, kLearnedVectors))),
      norm_(register_module("norm", LayerNorm(config.input_channels))),
      encoder_(register_module("encoder", transformer(config))),
      bias_(register_parameter("bias", new_parameter({config.vocabulary_size}, kZeros))) {}

Tensor BertImpl::forward(const Tensor& ids, const Tensor& mask) {
  if (mask.defined()) check_shape(mask, {ids.size(0), ids.size(1)}, "mask");
  const Tensor outputs = encoder_(norm_(input_(ids)), mask);
  return at::linear(outputs, input_->token_weight(), bias_);
}

ModelSummary BertImpl::summary() const {
  const int64_t m = config_.num_inputs, c = config_.input_channels;
  ModelSummary s{.inputs = {m, c}, .latents = {}, .queries = {}, .outputs = {m, c}};
  s.add("input.", input_->parts());
  s.add("input.", {{.name = "norm", .parameters = num_parameters(*norm_)}});
  int64_t i = 0;
  for (const TransformerLayer& layer : encoder_->layers()) {
    s.add("encoder.", {{.name = "layer_" + std::to_string(i++),
                        .parameters = num_parameters(*layer),
                        .flops = layer->flops(m),
                        .attention = layer->attention_case(m)}});
  }
  s.add("", {{.name = "logits",
              .parameters = bias_.numel(),
              .flops = 2 * m * input_->token_weight().numel()}});
  return s;
}

}  // namespace perceiver
