#include "perceiver/nn/transformer.h"

#include <ATen/ATen.h>

namespace perceiver {

static AttendConfig attend_config(int64_t channels, const TransformerConfig& config) {
  return {.num_heads = config.num_heads,
          .qk_channels = config.attention_channels.value_or(channels),
          .attention_dropout = config.dropout};
}

TransformerLayerImpl::TransformerLayerImpl(int64_t channels, const TransformerConfig& config,
                                           Gelu form)
    : dropout_(config.dropout),
      attention_(register_module(
          "attention", QkvAttention(channels, channels, attend_config(channels, config)))),
      mlp_(register_module("mlp", Mlp(channels, config.mlp_channels, form))),
      norm_attention_(register_module("norm_attention", LayerNorm(channels))),
      norm_mlp_(register_module("norm_mlp", LayerNorm(channels))) {}

Tensor TransformerLayerImpl::forward(const Tensor& x, const Tensor& mask) {
  const Tensor attended = attention_(x, x, AttendMasks{.kv = mask});
  const Tensor y = norm_attention_(x + at::dropout(attended, dropout_, is_training()));
  return norm_mlp_(y + at::dropout(mlp_(y), dropout_, is_training()));
}

AttentionCase TransformerLayerImpl::attention_case(int64_t elements) const {
  return attention_->attention_case(elements, elements);
}

int64_t TransformerLayerImpl::flops(int64_t elements) const {
  return attention_->flops(elements, elements) + mlp_->flops(elements);
}

TransformerImpl::TransformerImpl(int64_t channels, const TransformerConfig& config, Gelu form) {
  for (int64_t i = 0; i < config.num_layers; ++i) {
    layers_.push_back(register_module(std::to_string(i), TransformerLayer(channels, config, form)));
  }
}

Tensor TransformerImpl::forward(Tensor x, const Tensor& mask) {
  for (TransformerLayer& layer : layers_) x = layer(x, mask);
  return x;
}

}  // namespace perceiver
