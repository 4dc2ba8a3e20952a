// QKV attention and the attention modules made of it (paper, App. E.1).
#pragma once

#include <optional>

#include "perceiver/core/config.h"
#include "perceiver/kernels/attention.h"
#include "perceiver/nn/layers.h"
#include "perceiver/nn/mlp.h"
#include "perceiver/nn/semantics.h"

namespace perceiver {

// Which array's channels qk_channels follow where they are not given.
enum class ShapeForAttn { kKv, kQ };
constexpr std::array<std::string_view, 2> enum_words(ShapeForAttn) { return {"kv", "q"}; }

struct AttendConfig {
  int64_t num_heads = 1;
  std::optional<int64_t> qk_channels = {};  // F, over all heads; default: as shape_for_attn says
  std::optional<int64_t> v_channels = {};   // V, over all heads; default: qk_channels
  ShapeForAttn shape_for_attn = ShapeForAttn::kKv;
  int64_t widening_factor = 1;     // the MLP's hidden channels over its output channels
  bool query_residual = true;      // Eq. 5; off in flow: a query there is no output
  double dropout = 0.0;            // of what attention and MLP add
  double attention_dropout = 0.0;  // of the attention weights
};

template <typename Visitor>
void fields(Visitor& visit, AttendConfig& c) {
  visit("num_heads", c.num_heads, at_least(1));
  visit("qk_channels", c.qk_channels, at_least(1));
  visit("v_channels", c.v_channels, at_least(1));
  visit("shape_for_attn", c.shape_for_attn);
  visit("widening_factor", c.widening_factor, at_least(1));
  visit("query_residual", c.query_residual);
  visit("dropout", c.dropout, between(0.0, 1.0));
  visit("attention_dropout", c.attention_dropout, between(0.0, 1.0));
}

// Masks of the two arrays, true where there is an element; undefined: everywhere.
struct AttendMasks {
  Tensor q = {};   // [B, N]
  Tensor kv = {};  // [B, M]
};

// Eq. 1-3: f_O(softmax(Q K^T / sqrt(F)) V).
class QkvAttentionImpl : public torch::nn::Module {
 public:
  QkvAttentionImpl(int64_t q_channels, int64_t kv_channels, const AttendConfig& config,
                   const Semantics& semantics = {});

  // x_q [B, N, D], x_kv [B, M, C] -> [B, N, D]
  Tensor forward(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks = {});

  // The attention of one example with this many queries and keys, as the kernels will see it.
  AttentionCase attention_case(int64_t queries, int64_t keys) const;
  int64_t flops(int64_t queries, int64_t keys) const;

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
  Tensor forward(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks = {});

  AttentionCase attention_case(int64_t queries, int64_t keys) const;
  int64_t flops(int64_t queries, int64_t keys) const;

 private:
  bool query_residual_;
  double dropout_;
  LayerNorm norm_q_{nullptr}, norm_kv_{nullptr}, norm_mlp_{nullptr};
  QkvAttention attention_{nullptr};
  Mlp mlp_{nullptr};
};
TORCH_MODULE(CrossAttend);

// Eq. 4-6, both from one array: the latent process modules.
class SelfAttendImpl : public torch::nn::Module {
 public:
  SelfAttendImpl(int64_t channels, const AttendConfig& config, const Semantics& semantics = {});

  Tensor forward(const Tensor& x);  // [B, N, D] -> [B, N, D]

  AttentionCase attention_case(int64_t elements) const;
  int64_t flops(int64_t elements) const;

 private:
  double dropout_;
  LayerNorm norm_{nullptr}, norm_mlp_{nullptr};
  QkvAttention attention_{nullptr};
  Mlp mlp_{nullptr};
};
TORCH_MODULE(SelfAttend);

}  // namespace perceiver
