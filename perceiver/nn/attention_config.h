#pragma once

#include <optional>

#include "perceiver/core/config.h"
#include "perceiver/core/tensor.h"
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

}  // namespace perceiver
