#include "perceiver/model/perceiver_io.h"

#include <ATen/ATen.h>

#include "perceiver/core/count.h"
#include "perceiver/core/error.h"
#include "perceiver/nn/fused_layer.h"
#include "perceiver/nn/recompute.h"

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

// Attends in a way that the backward pass may repeat.
static Tensor run(CrossAttend attend, const Array& x_q, const Array& x_kv,
                  const AttendMasks& masks) {
  if (!recomputes_now()) return attend(x_q, x_kv, masks);
  return recompute(*attend, {x_q.materialise(), x_kv.materialise(), masks.q, masks.kv},
                   [attend](const std::vector<Tensor>& x) mutable {
                     return attend(x[0], x[1], AttendMasks{.q = x[2], .kv = x[3]});
                   });
}

static Tensor run(const std::vector<SelfAttend>& self_attends, Tensor z) {
  if (!recomputes_now()) return attend_in_turn(self_attends, z);
  for (SelfAttend attend : self_attends) {
    z = recompute(*attend, {z},
                  [attend](const std::vector<Tensor>& x) mutable { return attend(x[0]); });
  }
  return z;
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
  return run(cross_attend_, start, inputs, {.kv = input_mask});
}

Tensor EncoderImpl::process(const Tensor& latents, const Array& inputs, const Tensor& input_mask) {
  TORCH_INTERNAL_ASSERT(num_cross_attends_ == 1 || inputs.defined());
  Tensor z = latents;
  for (int64_t block = 0; block < num_blocks_; ++block) {
    if (block > 0 && block < num_cross_attends_) {
      z = run(cross_attend_again_, z, inputs, {.kv = input_mask});
    }
    z = run(self_attends_, z);
  }
  return z;
}

std::vector<Part> EncoderImpl::parts(int64_t num_inputs) const {
  const int64_t n = latents_.size(0);
  std::vector<Part> parts = {{.name = "latents", .parameters = latents_.numel()},
                             {.name = "cross_attend",
                              .parameters = num_parameters(*cross_attend_),
                              .flops = cross_attend_->flops(n, num_inputs),
                              .attention = cross_attend_->attention_case(n, num_inputs),
                              .shape = shape_of(cross_attend_->parts())}};
  if (num_cross_attends_ > 1) {
    const int64_t times = num_cross_attends_ - 1;
    parts.push_back({.name = "cross_attend_again",
                     .parameters = num_parameters(*cross_attend_again_),
                     .flops = times * cross_attend_again_->flops(n, num_inputs),
                     .times = times,
                     .attention = cross_attend_again_->attention_case(n, num_inputs),
                     .shape = shape_of(cross_attend_again_->parts())});
  }
  for (size_t i = 0; i < self_attends_.size(); ++i) {
    parts.push_back({.name = "self_attend_" + std::to_string(i),
                     .parameters = num_parameters(*self_attends_[i]),
                     .flops = num_blocks_ * self_attends_[i]->flops(n),
                     .times = num_blocks_,
                     .attention = self_attends_[i]->attention_case(n),
                     .shape = shape_of(self_attends_[i]->parts())});
  }
  return parts;
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
  AttendParts parts = parts_with_output();
  if (output_.is_empty()) parts.output = tied;
  const LinearMap& layer = parts.output;
  const auto one_by_one = [&] {
    const Tensor x = run(cross_attend_, queries, latents, {.q = query_mask});
    return layer.weight.defined() ? linear_layer(x, layer.weight, layer.bias) : x;
  };
  if (!layer.weight.defined() || is_training()) return one_by_one();
  const auto packed =
      packed_.get(*cross_attend_, [&] { return parts; }, {layer.weight, layer.bias});
  if (!packed) return one_by_one();
  const Tensor out = packed->cross(queries, latents, {.q = query_mask});
  if (attention_is_checked()) check_packed(out, one_by_one());
  return out;
}

AttendParts DecoderImpl::parts_with_output() const {
  AttendParts parts = cross_attend_->parts();
  if (!output_.is_empty()) parts.output = {output_->weight, output_->bias};
  return parts;
}

std::vector<Part> DecoderImpl::parts(int64_t num_queries, int64_t num_latents) const {
  std::vector<Part> parts = {{.name = "cross_attend",
                              .parameters = num_parameters(*cross_attend_),
                              .flops = cross_attend_->flops(num_queries, num_latents),
                              .attention = cross_attend_->attention_case(num_queries, num_latents),
                              .shape = shape_of(parts_with_output())}};
  if (!output_.is_empty()) {
    parts.push_back({.name = "output",
                     .parameters = num_parameters(*output_),
                     .flops = output_->flops(num_queries)});
  }
  return parts;
}

PerceiverIoImpl::PerceiverIoImpl(const PerceiverIoChannels& channels, const EncoderConfig& encoder,
                                 const DecoderConfig& decoder, const Semantics& semantics,
                                 LinearInit output_init)
    : encoder_(register_module("encoder", Encoder(channels.inputs, encoder, semantics))),
      decoder_(register_module(
          "decoder",
          Decoder(DecoderChannels{channels.queries, encoder.latent_channels, channels.outputs},
                  decoder, semantics, output_init))) {}

std::vector<Part> PerceiverIoImpl::parts(int64_t num_inputs, int64_t num_queries) const {
  ModelSummary all;
  all.add("encoder.", encoder_->parts(num_inputs));
  all.add("decoder.", decoder_->parts(num_queries, latent_size().index));
  return all.parts;
}

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
