#include "perceiver/model/perceiver_io.h"

#include <ATen/ATen.h>

#include "perceiver/core/count.h"
#include "perceiver/core/error.h"
#include "perceiver/nn/attend_forms.h"

namespace perceiver {

// Modules check their own heads; this says whose they are.
template <typename Make>
static auto named(std::string_view key, const Make& make) {
  try {
    return make();
  } catch (const Error& e) {
    fail("{}: {}", key, e.what());
  }
}

static void check_layers(const EncoderConfig& c) {
  for (const auto& [key, layers] : {std::pair{"num_blocks", c.num_blocks},
                                    {"self_attends_per_block", c.self_attends_per_block}}) {
    if (layers > kMostLayers) {
      fail("encoder.{} must be at most {}, got {}", key, kMostLayers, layers);
    }
  }
  if (c.num_cross_attends > c.num_blocks) {
    fail("encoder.num_cross_attends ({}) must be at most num_blocks ({})", c.num_cross_attends,
         c.num_blocks);
  }
}

EncoderImpl::EncoderImpl(int64_t input_channels, const EncoderConfig& config,
                         const Semantics& semantics)
    : num_blocks_(config.num_blocks), num_cross_attends_(config.num_cross_attends) {
  check_layers(config);
  const int64_t d = config.latent_channels;
  latents_ = register_parameter("latents", new_parameter({config.num_latents, d}, kLearnedVectors));
  const auto cross_attend = [&] {
    return CrossAttend(d, input_channels, config.cross_attend, semantics);
  };
  cross_attend_ = register_module("cross_attend", named("encoder.cross_attend", cross_attend));
  if (num_cross_attends_ > 1) {
    cross_attend_again_ = register_module("cross_attend_again", cross_attend());
  }
  for (int64_t i = 0; i < config.self_attends_per_block; ++i) {
    self_attends_.push_back(
        register_module("self_attend_" + std::to_string(i), named("encoder.self_attend", [&] {
                          return SelfAttend(d, config.self_attend, semantics);
                        })));
  }
}

Tensor EncoderImpl::encode(const Array& inputs, const Tensor& input_mask) {
  const Array start(LearnedRows{latents_}, inputs.batch());
  return attended(cross_attend_, start, inputs, {.kv = input_mask});
}

Tensor EncoderImpl::process(const Tensor& latents, const Array& inputs, const Tensor& input_mask) {
  TORCH_INTERNAL_ASSERT(num_cross_attends_ == 1 || inputs.defined());
  Tensor z = latents;
  for (int64_t block = 0; block < num_blocks_; ++block) {
    if (block > 0 && block < num_cross_attends_) {
      z = attended(cross_attend_again_, z, inputs, {.kv = input_mask});
    }
    z = attended_in_turn(self_attends_, z);
  }
  return z;
}

DecoderImpl::DecoderImpl(const DecoderChannels& channels, const DecoderConfig& config,
                         const Semantics& semantics, LinearInit output_init) {
  cross_attend_ = register_module("cross_attend", named("decoder.cross_attend", [&] {
                                    return CrossAttend(channels.queries, channels.latents,
                                                       config.cross_attend, semantics);
                                  }));
  if (channels.outputs) {
    output_ = register_module("output", Linear(channels.queries, *channels.outputs, output_init));
  }
}

Tensor DecoderImpl::forward(const Tensor& latents, const Array& queries, const Tensor& query_mask,
                            const LinearMap& tied) {
  const LinearMap output = output_.is_empty() ? tied : LinearMap{output_->weight, output_->bias};
  return forms_.cross(cross_attend_, output, queries, latents, {.q = query_mask});
}

PerceiverIoImpl::PerceiverIoImpl(const PerceiverIoChannels& channels, const EncoderConfig& encoder,
                                 const DecoderConfig& decoder, const Semantics& semantics,
                                 LinearInit output_init)
    : encoder_(register_module("encoder", Encoder(channels.inputs, encoder, semantics))),
      decoder_(register_module(
          "decoder",
          Decoder(DecoderChannels{channels.queries, encoder.latent_channels, channels.outputs},
                  decoder, semantics, output_init))) {}

Tensor decode_in_slices(int64_t count, int64_t slice,
                        const std::function<Tensor(int64_t, int64_t)>& outputs) {
  if (count <= slice) return outputs(0, count);
  Tensor all;
  for (int64_t begin = 0; begin < count; begin += slice) {
    const int64_t end = std::min(begin + slice, count);
    const Tensor part = outputs(begin, end);
    if (!all.defined()) all = at::empty({part.size(0), count, part.size(2)}, part.options());
    all.slice(1, begin, end).copy_(part);
  }
  return all;
}

Tensor decode_in_slices(PerceiverIo& model, const Tensor& latents, const Array& queries,
                        int64_t slice) {
  return decode_in_slices(queries.elements(), slice, [&](int64_t begin, int64_t end) {
    return model->decode(latents, queries.slice(begin, end));
  });
}

}  // namespace perceiver
