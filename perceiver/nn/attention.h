// QKV attention and the attention modules made of it (paper, App. E.1).
#pragma once

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/nn/array.h"
#include "perceiver/nn/attend_plan.h"
#include "perceiver/nn/attention_config.h"
#include "perceiver/nn/fused.h"
#include "perceiver/nn/layers.h"
#include "perceiver/nn/mlp.h"
#include "perceiver/nn/packed.h"

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

  // x_q [B, N, D], x_kv [B, M, C] -> [B, N, D]
  Tensor forward(const Array& x_q, const Array& x_kv, const AttendMasks& masks = {});

  AttentionCase attention_case(int64_t queries, int64_t keys) const;
  int64_t flops(int64_t queries, int64_t keys) const;
  AttendParts parts() const;

 private:
  bool drops() const { return attention_->drops() || (is_training() && dropout_ > 0.0); }
  std::shared_ptr<PackedAttend> packed();  // null where there is none now
  Tensor forward_plain(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks);
  Tensor forward_fused(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks,
                       at::ScalarType dtype);

  bool query_residual_;
  double dropout_;
  LayerNorm norm_q_{nullptr}, norm_kv_{nullptr}, norm_mlp_{nullptr};
  QkvAttention attention_{nullptr};
  Mlp mlp_{nullptr};
  PackedCache packed_;
};
TORCH_MODULE(CrossAttend);

// Eq. 4-6, both from one array: the latent process modules.
class SelfAttendImpl : public torch::nn::Module {
 public:
  SelfAttendImpl(int64_t channels, const AttendConfig& config, const Semantics& semantics = {});

  Tensor forward(const Tensor& x);  // [B, N, D] -> [B, N, D]

  // The training form (nn/fused.h), whose result is left for the next norm to add up.
  Residual forward_fused(const Residual& x, at::ScalarType dtype);
  // The inference form (nn/packed.h) where there is one now, whose result comes with what the next
  // norm needs.
  MeasuredRows forward_packed(const MeasuredRows& x);
  bool drops() const;  // anything, now; the forms but the module's own cannot

  AttentionCase attention_case(int64_t elements) const;
  int64_t flops(int64_t elements) const;
  AttendParts parts() const;

 private:
  Tensor forward_plain(const Tensor& x);

  double dropout_;
  LayerNorm norm_{nullptr}, norm_mlp_{nullptr};
  QkvAttention attention_{nullptr};
  Mlp mlp_{nullptr};
  PackedCache packed_;
};
TORCH_MODULE(SelfAttend);

// One after another: z [B, N, D] -> [B, N, D]
Tensor attend_in_turn(const std::vector<SelfAttend>& self_attends, const Tensor& z);

}  // namespace perceiver
