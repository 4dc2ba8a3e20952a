#include "perceiver/tasks/language/model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numbers>

#include "perceiver/core/error.h"

namespace perceiver {

LanguageImpl::LanguageImpl(const LanguageConfig& config)
    : config_(config),
      input_(register_module(
          "input", TextInput(config.vocabulary_size, config.num_inputs, config.input_channels,
                             truncated_normal(config.token_init_scale)))),
      encoder_(register_module("encoder",
                               Encoder(config.input_channels, config.encoder, config.semantics))),
      query_(register_module("query", LearnedQuery(config.num_inputs, config.input_channels))),
      decoder_(register_module(
          "decoder", Decoder(DecoderChannels{config.input_channels, config.encoder.latent_channels},
                             config.decoder, config.semantics))),
      bias_(register_parameter("bias", new_parameter({config.vocabulary_size}, kZeros))) {
  if (config.place_init == PlaceInit::kSinusoids && !constructs_without_memory()) {
    start_as_sinusoids();
  }
}

// places [n] of a text of M -> [n, channels], as wide as vectors that start at random. Waves of two
// places up to twice the text, in even steps of their logarithm.
static Tensor sinusoids(const Tensor& places, int64_t channels, int64_t num_inputs) {
  const int64_t waves = channels / 2;
  const auto longest = static_cast<double>(num_inputs);
  const Tensor share = at::arange(waves) / static_cast<double>(std::max<int64_t>(1, waves - 1));
  const Tensor angles = places.unsqueeze(1) * (at::pow(longest, -share) * std::numbers::pi);
  const Tensor features = at::cat({angles.sin(), angles.cos()}, 1);
  return at::constant_pad_nd(features, {0, channels - 2 * waves}) *
         (kLearnedVectors.stddev * std::numbers::sqrt2);
}

void LanguageImpl::start_as_sinusoids() {
  at::NoGradGuard no_grad;
  const auto m = static_cast<double>(config_.num_inputs);
  auto parameters = named_parameters();
  for (const char* name : {"input.position.weight", "query.queries", "encoder.latents"}) {
    Tensor& vectors = parameters[name];
    const auto n = static_cast<double>(vectors.size(0));
    const Tensor places = (at::arange(vectors.size(0)) + 0.5) * (m / n) - 0.5;
    vectors.copy_(sinusoids(places, vectors.size(1), config_.num_inputs));
  }
}

// Those on a GPU are the trainer's: to look at them would make the CPU wait in every step.
static void check_positions(const Tensor& positions, int64_t num_inputs) {
  if (!positions.is_cpu()) return;
  const Tensor outside =
      positions.masked_select((positions < 0).logical_or(positions >= num_inputs));
  if (outside.numel() == 0) return;
  fail("position {} is not among the model's {}", outside[0].item<int64_t>(), num_inputs);
}

Tensor LanguageImpl::encode(const Tensor& ids, const Tensor& mask) {
  if (mask.defined()) check_shape(mask, {ids.size(0), ids.size(1)}, "mask");
  return encoder_(input_(ids), mask);
}

Tensor LanguageImpl::decode(const Tensor& latents, const Tensor& positions,
                            const Tensor& query_mask) {
  check_positions(positions, config_.num_inputs);
  return logits(latents, query_(latents.size(0), positions.to(latents.device())), query_mask);
}

Tensor LanguageImpl::logits(const Tensor& latents, const Array& queries, const Tensor& query_mask) {
  return decoder_(latents, queries, query_mask, LinearMap{input_->token_weight(), bias_});
}

Tensor LanguageImpl::forward(const Tensor& ids, const Tensor& mask) {
  return recorded_(*this, {ids, mask}, [this](const std::vector<Tensor>& x) {
    const Tensor latents = encode(x[0], x[1]);
    return logits(latents, query_(x[0].size(0)).slice(0, x[0].size(1)), x[1]);
  });
}

ModelSummary LanguageImpl::summary(int64_t num_queries) const {
  const int64_t m = config_.num_inputs, c = config_.input_channels, o = num_queries;
  // The output array is the decoder's, as in Tab. 5; logits are made of it.
  ModelSummary s{.inputs = {m, c},
                 .latents = encoder_->latent_size(),
                 .queries = ArraySize{o, c},
                 .outputs = {o, c}};
  s.add("input.", input_->parts());
  s.add("encoder.", encoder_->parts(m));
  s.add("", {{.name = "query", .parameters = num_parameters(*query_)}});
  s.add("decoder.", decoder_->parts(o, s.latents->index));
  s.add("", {{.name = "logits",
              .parameters = bias_.numel(),
              .flops = 2 * o * input_->token_weight().numel()}});
  return s;
}

}  // namespace perceiver
