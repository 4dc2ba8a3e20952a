#include "perceiver/nn/attention.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/repeated.h"
#include "perceiver/nn/fused.h"

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
  return f_o_(attend_projected(f_q_(x_q), f_k_(x_kv), f_v_(x_kv), masks));
}

Tensor QkvAttentionImpl::attend_projected(const Tensor& q, const Tensor& k, const Tensor& values,
                                          const AttendMasks& masks) const {
  const Tensor v = split_heads(values);
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

void QkvAttentionImpl::add_to(AttendParts& parts) const {
  parts.q = f_q_, parts.k = f_k_, parts.v = f_v_, parts.o = f_o_;
  parts.num_heads = num_heads_;
  parts.semantics = semantics_;
}

AttentionCase QkvAttentionImpl::attention_case(int64_t queries, int64_t keys) const {
  return {.heads = num_heads_,
          .queries = queries,
          .keys = keys,
          .qk_channels = f_q_->weight.size(0) / num_heads_,
          .v_channels = f_v_->weight.size(0) / num_heads_,
          .dropout = dropout_ > 0.0};
}

int64_t QkvAttentionImpl::flops(int64_t queries, int64_t keys) const {
  const int64_t qk = f_q_->weight.size(0), v = f_v_->weight.size(0);
  return f_q_->flops(queries) + f_k_->flops(keys) + f_v_->flops(keys) + f_o_->flops(queries) +
         2 * queries * keys * (qk + v);
}

static AttendTail tail_of(const AttendParts& p) {
  return {.output = p.o,
          .norm = p.norm_mlp,
          .widen = p.widen,
          .narrow = p.narrow,
          .gelu = p.semantics.gelu};
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

AttendParts CrossAttendImpl::parts() const {
  AttendParts parts{.norm_q = norm_q_,
                    .norm_kv = norm_kv_,
                    .norm_mlp = norm_mlp_,
                    .widen = mlp_->widen(),
                    .narrow = mlp_->narrow(),
                    .query_residual = query_residual_};
  attention_->add_to(parts);
  return parts;
}

std::shared_ptr<PackedAttend> CrossAttendImpl::packed() {
  return drops() ? nullptr : packed_.get(*this, [&] { return parts(); });
}

Tensor CrossAttendImpl::forward(const Array& x_q, const Array& x_kv, const AttendMasks& masks) {
  if (pass_is_over()) return x_q.materialise();
  const auto form = packed();
  const auto dtype = form || drops() ? std::nullopt : fused_dtype(x_q.materialise());
  const auto as_defined = [&] {
    return forward_plain(x_q.materialise(), x_kv.materialise(), masks);
  };
  if (!form && !dtype) return as_defined();
  const Tensor out = form ? form->cross(x_q, x_kv, masks)
                          : forward_fused(x_q.materialise(), x_kv.materialise(), masks, *dtype);
  if (attention_is_checked()) check_packed(out, as_defined());
  return out;
}

Tensor CrossAttendImpl::forward_fused(const Tensor& x_q, const Tensor& x_kv,
                                      const AttendMasks& masks, at::ScalarType dtype) {
  const AttendParts p = parts();
  // Queries that are the same for every example, as latents are, are projected once.
  const bool repeats = repeats_one_example(x_q);
  const NormedProjections q =
      project_normed({repeats ? x_q.narrow(0, 0, 1) : x_q}, p.norm_q, {p.q}, dtype);
  const NormedProjections kv = project_normed({x_kv}, p.norm_kv, {p.k, p.v}, dtype);
  const auto of_each = [&](const Tensor& x) { return x.expand({x_q.size(0), -1, -1}); };
  const Tensor attended =
      attention_->attend_projected(of_each(q.outputs[0]), kv.outputs[0], kv.outputs[1], masks);
  return added_up(
      add_and_mlp(query_residual_ ? of_each(q.passed) : Tensor(), attended, tail_of(p), dtype));
}

Tensor CrossAttendImpl::forward_plain(const Tensor& x_q, const Tensor& x_kv,
                                      const AttendMasks& masks) {
  Tensor x = attention_(norm_q_(x_q), norm_kv_(x_kv), masks);
  x = at::dropout(x, dropout_, is_training());
  if (query_residual_) x = x + x_q;
  return x + at::dropout(mlp_(norm_mlp_(x)), dropout_, is_training());
}

AttentionCase CrossAttendImpl::attention_case(int64_t queries, int64_t keys) const {
  return attention_->attention_case(queries, keys);
}

int64_t CrossAttendImpl::flops(int64_t queries, int64_t keys) const {
  return attention_->flops(queries, keys) + mlp_->flops(queries);
}

SelfAttendImpl::SelfAttendImpl(int64_t channels, const AttendConfig& config,
                               const Semantics& semantics)
    : dropout_(config.dropout),
      norm_(register_module("norm", LayerNorm(channels))),
      norm_mlp_(register_module("norm_mlp", LayerNorm(channels))),
      attention_(register_module("attention", QkvAttention(channels, channels, config, semantics))),
      mlp_(register_module("mlp",
                           Mlp(channels, config.widening_factor * channels, semantics.gelu))) {}

AttendParts SelfAttendImpl::parts() const {
  AttendParts parts{.norm_q = norm_,
                    .norm_kv = norm_,
                    .norm_mlp = norm_mlp_,
                    .widen = mlp_->widen(),
                    .narrow = mlp_->narrow(),
                    .query_residual = true};
  attention_->add_to(parts);
  return parts;
}

Tensor SelfAttendImpl::forward(const Tensor& z) {
  if (pass_is_over()) return z;
  const auto packed = drops() ? nullptr : packed_.get(*this, [&] { return parts(); });
  const auto dtype = drops() ? std::nullopt : fused_dtype(z);
  if (!packed && !dtype) return forward_plain(z);
  const Tensor out = packed ? packed->self({z}).rows : added_up(forward_fused({z}, *dtype));
  if (attention_is_checked()) check_packed(out, forward_plain(z));
  return out;
}

bool SelfAttendImpl::drops() const {
  return attention_->drops() || (is_training() && dropout_ > 0.0);
}

Residual SelfAttendImpl::forward_fused(const Residual& z, at::ScalarType dtype) {
  const AttendParts p = parts();
  const NormedProjections qkv = project_normed(z, p.norm_q, {p.q, p.k, p.v}, dtype);
  const Tensor attended =
      attention_->attend_projected(qkv.outputs[0], qkv.outputs[1], qkv.outputs[2], {});
  return add_and_mlp(qkv.passed, attended, tail_of(p), dtype);
}

Tensor SelfAttendImpl::forward_plain(const Tensor& z) {
  const Tensor normed = norm_(z);
  const Tensor x = z + at::dropout(attention_(normed, normed), dropout_, is_training());
  return x + at::dropout(mlp_(norm_mlp_(x)), dropout_, is_training());
}

MeasuredRows SelfAttendImpl::forward_packed(const MeasuredRows& z) {
  const auto packed =
      drops() || attention_is_checked() ? nullptr : packed_.get(*this, [&] { return parts(); });
  return packed ? packed->self(z) : MeasuredRows{forward(z.rows)};
}

Tensor attend_in_turn(const std::vector<SelfAttend>& self_attends, const Tensor& z) {
  const bool drops = std::ranges::any_of(self_attends, [](const auto& s) { return s->drops(); });
  const auto dtype = drops || attention_is_checked() ? std::nullopt : fused_dtype(z);
  if (!dtype) {
    MeasuredRows rows{z};
    for (SelfAttend self_attend : self_attends) rows = self_attend->forward_packed(rows);
    return rows.rows;
  }
  Residual residual{z};
  for (SelfAttend self_attend : self_attends) {
    residual = self_attend->forward_fused(residual, *dtype);
  }
  return added_up(residual);
}

AttentionCase SelfAttendImpl::attention_case(int64_t elements) const {
  return attention_->attention_case(elements, elements);
}

int64_t SelfAttendImpl::flops(int64_t elements) const {
  return attention_->flops(elements, elements) + mlp_->flops(elements);
}

}  // namespace perceiver
