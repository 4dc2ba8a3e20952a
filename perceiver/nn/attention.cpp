#include "perceiver/nn/attention.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"

namespace perceiver {

QkvAttentionImpl::QkvAttentionImpl(int64_t q_channels, int64_t kv_channels,
                                   const AttendConfig& config, const Semantics& semantics)
    : num_heads_(config.num_heads), dropout_(config.attention_dropout), semantics_(semantics) {
  const int64_t shape = config.shape_for_attn == ShapeForAttn::kKv ? kv_channels : q_channels;
  const int64_t qk = config.qk_channels.value_or(shape);
  const int64_t v = config.v_channels.value_or(qk);
  if (qk % num_heads_ != 0 || v % num_heads_ != 0) {
    fail("qk_channels ({}) and v_channels ({}) must be multiples of num_heads ({})", qk, v,
         num_heads_);
  }
  f_q_ = register_module("q", Linear(q_channels, qk, LinearInit::kAttend));
  f_k_ = register_module("k", Linear(kv_channels, qk, LinearInit::kAttend));
  f_v_ = register_module("v", Linear(kv_channels, v, LinearInit::kAttend));
  f_o_ = register_module("o", Linear(v, q_channels, LinearInit::kAttend));
}

Tensor QkvAttentionImpl::split_heads(const Tensor& x) const {
  return x.unflatten(-1, {num_heads_, x.size(-1) / num_heads_}).transpose(1, 2);
}

Tensor QkvAttentionImpl::forward(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) {
  return f_o_(attend_projected(f_q_(x_q), f_k_(x_kv), f_v_(x_kv), masks));  // Eq. 1 and 3
}

Tensor QkvAttentionImpl::attend_projected(const Tensor& q, const Tensor& k, const Tensor& values,
                                          const AttendMasks& masks) const {
  const Tensor v = split_heads(values);
  // Eq. 2, and its product with V.
  Tensor x_qkv = attend({.q = split_heads(q),
                         .k = split_heads(k),
                         .v = v,
                         .kv_mask = masks.kv,
                         .dropout = is_training() ? dropout_ : 0.0});  // [B, H, N, V]
  if (masks.kv.defined() && !semantics_.zero_masked_rows) {
    const Tensor any_key = masks.kv.any(1).view({-1, 1, 1, 1});
    x_qkv = at::where(any_key, x_qkv, v.mean(2, /*keepdim=*/true));
  }
  if (masks.q.defined() && semantics_.query_mask) {
    x_qkv = x_qkv.masked_fill(masks.q.logical_not().unsqueeze(1).unsqueeze(-1), 0.0);
  }
  return x_qkv.transpose(1, 2).flatten(-2);
}

CrossAttendImpl::CrossAttendImpl(int64_t q_channels, int64_t kv_channels,
                                 const AttendConfig& config, const Semantics& semantics)
    : query_residual_(config.query_residual),
      dropout_(config.dropout),
      norm_q_(register_module("norm_q", LayerNorm(q_channels))),
      norm_kv_(register_module("norm_kv", LayerNorm(kv_channels))),
      norm_mlp_(register_module("norm_mlp", LayerNorm(q_channels))),
      attention_(
          register_module("attention", QkvAttention(q_channels, kv_channels, config, semantics))),
      mlp_(register_module("mlp",
                           Mlp(q_channels, config.widening_factor * q_channels, semantics.gelu))) {}

Tensor CrossAttendImpl::define(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) {
  Tensor x_qkv = attention_(norm_q_(x_q), norm_kv_(x_kv), masks);  // Eq. 4
  x_qkv = at::dropout(x_qkv, dropout_, is_training());
  if (query_residual_) x_qkv = x_qkv + x_q;                                     // Eq. 5
  return x_qkv + at::dropout(mlp_(norm_mlp_(x_qkv)), dropout_, is_training());  // Eq. 6
}

SelfAttendImpl::SelfAttendImpl(int64_t channels, const AttendConfig& config,
                               const Semantics& semantics)
    : dropout_(config.dropout),
      norm_(register_module("norm", LayerNorm(channels))),
      norm_mlp_(register_module("norm_mlp", LayerNorm(channels))),
      attention_(register_module("attention", QkvAttention(channels, channels, config, semantics))),
      mlp_(register_module("mlp",
                           Mlp(channels, config.widening_factor * channels, semantics.gelu))) {}

Tensor SelfAttendImpl::define(const Tensor& z) {
  const Tensor normed = norm_(z);
  const Tensor x = z + at::dropout(attention_(normed, normed), dropout_, is_training());
  return x + at::dropout(mlp_(norm_mlp_(x)), dropout_, is_training());
}

}  // namespace perceiver
