#include "perceiver/tasks/language/classifier.h"

namespace perceiver {

TextClassifierImpl::TextClassifierImpl(const TextClassifierConfig& config) : config_(config) {
  const int64_t c = config.input_channels, d = config.encoder.latent_channels;
  const int64_t q = config.query_channels.value_or(d);
  input_ = register_module("input", TextInput(config.vocabulary_size, config.num_inputs, c));
  encoder_ = register_module("encoder", Encoder(c, config.encoder, config.semantics));
  query_ = register_module("query", LearnedQuery(1, q));
  decoder_ = register_module("decoder", Decoder(DecoderChannels{q, d, config.num_classes},
                                                config.decoder, config.semantics));
}

Tensor TextClassifierImpl::encode(const Tensor& ids, const Tensor& mask) {
  if (mask.defined()) check_shape(mask, {ids.size(0), ids.size(1)}, "mask");
  return encoder_(input_(ids), mask);
}

Tensor TextClassifierImpl::decode(const Tensor& latents) {
  return decoder_(latents, query_(latents.size(0))).squeeze(1);
}

Tensor TextClassifierImpl::forward(const Tensor& ids, const Tensor& mask) {
  return decode(encode(ids, mask));
}

ModelSummary TextClassifierImpl::summary() const {
  ModelSummary s{.inputs = {config_.num_inputs, config_.input_channels},
                 .latents = encoder_->latent_size(),
                 .queries = ArraySize{1, query_->channels()},
                 .outputs = {1, config_.num_classes}};
  s.add("input.", input_->parts());
  s.add("encoder.", encoder_->parts(config_.num_inputs));
  s.add("", {{.name = "query", .parameters = num_parameters(*query_)}});
  s.add("decoder.", decoder_->parts(1, s.latents->index));
  return s;
}

}  // namespace perceiver
