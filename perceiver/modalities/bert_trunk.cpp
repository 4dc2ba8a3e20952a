#include "perceiver/modalities/bert_trunk.h"

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
BertTrunk::BertTrunk(const BertConfig& config)
    : inputs_{config.num_inputs, config.input_channels},
      input_(register_module("input", TextInput(config.vocabulary_size, config.num_inputs,
                                                config.input_channels, kLearnedVectors))),
      norm_(register_module("norm", LayerNorm(config.input_channels))),
      encoder_(register_module("encoder", transformer(config))) {}

Tensor BertTrunk::encode(const Tensor& ids, const Tensor& mask) {
  if (mask.defined()) check_shape(mask, {ids.size(0), ids.size(1)}, "mask");
  return encoder_(norm_(input_(ids).materialise()), mask);
}

ModelSummary BertTrunk::trunk_summary() const {
  const int64_t m = inputs_.index;
  ModelSummary s{.inputs = inputs_, .latents = {}, .queries = {}, .outputs = inputs_};
  s.add("input.", input_->parts());
  s.add("input.", {{.name = "norm", .parameters = num_parameters(*norm_)}});
  int64_t i = 0;
  for (const TransformerLayer& layer : encoder_->layers()) {
    s.add("encoder.", {{.name = "layer_" + std::to_string(i++),
                        .parameters = num_parameters(*layer),
                        .flops = layer->flops(m),
                        .attention = layer->attention_case(m)}});
  }
  return s;
}

}  // namespace perceiver
