// QKV attention and the attention modules made of it (paper, App. E.1): the definition, which
// attend_forms.h computes in faster forms.
#pragma once

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/nn/attend_forms.h"
#include "perceiver/nn/attend_plan.h"
#include "perceiver/nn/attention_config.h"
#include "perceiver/nn/layers.h"
#include "perceiver/nn/mlp.h"

namespace perceiver {

// Eq. 1-3: f_O(softmax(Q K^T / sqrt(F)) V).
class QkvAttentionImpl : public torch::nn::Module {
 public:
  QkvAttentionImpl(int64_t q_channels, int64_t kv_channels, const AttendConfig& config,
                   const Semantics& semantics = {});

  // x_q [B, N, D], x_kv [B, M, C] -> [B, N, D]
  Tensor forward(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks = {});

  // q [B, N, H*F], k [B, M, H*F], v [B, M, H*V] -> [B, N, H*V]: all but the linear layers
  Tensor attend_projected(const Tensor& q, const Tensor& k, const Tensor& values,
                          const AttendMasks& masks) const;

  // The attention of one example with this many queries and keys, as kernels see it in training.
  AttentionCase attention_case(int64_t queries, int64_t keys) const;
  int64_t flops(int64_t queries, int64_t keys) const;

  // The parts of the module that this attention is of, and whether it drops weights now.
  void add_to(AttendParts& parts) const;
  bool drops() const { return is_training() && dropout_ > 0.0; }

 private:
  Tensor split_heads(const Tensor& x) const;  // [B, N, H*F] -> [B, H, N, F]

  int64_t num_heads_;
  double dropout_;
  Semantics semantics_;
  Linear f_q_{nullptr}, f_k_{nullptr}, f_v_{nullptr}, f_o_{nullptr};
};
TORCH_MODULE(QkvAttention);

// Eq. 4-6, queries and key-values from two arrays: encoder and decoder.
class CrossAttendImpl : public torch::nn::Module {
 public:
  CrossAttendImpl(int64_t q_channels, int64_t kv_channels, const AttendConfig& config,
                  const Semantics& semantics = {});

  // x_q [B, N, D], x_kv [B, M, C] -> [B, N, D], in the form that is planned
  Tensor forward(const Array& x_q, const Array& x_kv, const AttendMasks& masks = {}) {
    return forms_.cross(*this, x_q, x_kv, masks);
  }
  Tensor define(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks);  // by Eq. 4-6

  AttentionCase attention_case(int64_t queries, int64_t keys) const;
  int64_t flops(int64_t queries, int64_t keys) const;
  AttendParts parts() const;
  bool drops() const;  // anything, now; the forms but the definition cannot
  const QkvAttention& attention() const { return attention_; }

 private:
  bool query_residual_;
  double dropout_;
  LayerNorm norm_q_{nullptr}, norm_kv_{nullptr}, norm_mlp_{nullptr};
  QkvAttention attention_{nullptr};
  Mlp mlp_{nullptr};
  AttendForms forms_;
};
TORCH_MODULE(CrossAttend);

// Eq. 4-6, both from one array: the latent process modules.
class SelfAttendImpl : public torch::nn::Module {
 public:
  SelfAttendImpl(int64_t channels, const AttendConfig& config, const Semantics& semantics = {});

  // z [B, N, D] -> [B, N, D], in the form that is planned
  Tensor forward(const Tensor& z) { return forms_.self(*this, z); }
  Tensor define(const Tensor& z);  // by Eq. 4-6

  AttentionCase attention_case(int64_t elements) const;
  int64_t flops(int64_t elements) const;
  AttendParts parts() const;
  bool drops() const;
  const QkvAttention& attention() const { return attention_; }
  AttendForms& forms() { return forms_; }

 private:
  double dropout_;
  LayerNorm norm_{nullptr}, norm_mlp_{nullptr};
  QkvAttention attention_{nullptr};
  Mlp mlp_{nullptr};
  AttendForms forms_;
};
TORCH_MODULE(SelfAttend);

}  // namespace perceiver
