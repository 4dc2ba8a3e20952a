#include "perceiver/model/class_decoder.h"

#include <ATen/ATen.h>

namespace perceiver {

Tensor class_probabilities(const Tensor& logits, bool several_labels) {
  const Tensor exact = logits.to(at::kFloat);
  return several_labels ? exact.sigmoid() : exact.softmax(-1);
}

ClassDecoder::ClassDecoder(torch::nn::Module& model, const Options& options) {
  const int64_t q = options.query_channels, d = options.latent_channels;
  if (options.by == DecodeBy::kAverage) {
    average_ = model.register_module("average", AverageProject(d, options.num_classes));
    return;
  }
  query_ = model.register_module("query", LearnedQuery(1, q));
  decoder_ = model.register_module("decoder", Decoder(DecoderChannels{q, d, options.num_classes},
                                                      options.decoder, options.semantics));
}

Tensor ClassDecoder::operator()(const Tensor& latents) {
  if (!average_.is_empty()) return average_(latents).squeeze(1);
  return decoder_(latents, query_(latents.size(0))).squeeze(1);
}

void ClassDecoder::add_to(ModelSummary& summary) const {
  if (!average_.is_empty()) return summary.add("average.", average_->parts());
  summary.queries = {1, query_->channels()};
  summary.add("", {{.name = "query", .parameters = num_parameters(*query_)}});
  summary.add("decoder.", decoder_->parts(1, summary.latents->index));
}

}  // namespace perceiver
