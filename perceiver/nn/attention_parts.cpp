// What the modules of attention.h are made of, and what they cost.
#include "perceiver/nn/attention.h"

namespace perceiver {

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

bool CrossAttendImpl::drops() const {
  return attention_->drops() || (is_training() && dropout_ > 0.0);
}

AttentionCase CrossAttendImpl::attention_case(int64_t queries, int64_t keys) const {
  return attention_->attention_case(queries, keys);
}

int64_t CrossAttendImpl::flops(int64_t queries, int64_t keys) const {
  return attention_->flops(queries, keys) + mlp_->flops(queries);
}

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

bool SelfAttendImpl::drops() const {
  return attention_->drops() || (is_training() && dropout_ > 0.0);
}

AttentionCase SelfAttendImpl::attention_case(int64_t elements) const {
  return attention_->attention_case(elements, elements);
}

int64_t SelfAttendImpl::flops(int64_t elements) const {
  return attention_->flops(elements, elements) + mlp_->flops(elements);
}

}  // namespace perceiver
