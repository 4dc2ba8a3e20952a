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
  std::optional<int64_t> qk_channels = {};
  std::optional<int64_t> v_channels = {};
  ShapeForAttn shape_for_attn = ShapeForAttn::kKv;
  int64_t widening_factor = 1;
  bool query_residual = true;  // Eq. 5; off in flow: a query there is no output
  double dropout = 0.0;
  double attention_dropout = 0.0;
};

template <typename Visitor>
void fields(Visitor& visit, AttendConfig& c) {
  visit({"num_heads", "Heads that attend side by side; they must divide the channels"}, c.num_heads,
        at_least(1));
  visit({"qk_channels",
         "Channels of queries and keys over all heads (F); not set: as shape_for_attn says"},
        c.qk_channels, at_least(1));
  visit({"v_channels", "Channels of values over all heads (V); not set: qk_channels"}, c.v_channels,
        at_least(1));
  visit({"shape_for_attn",
         "Whose channels qk_channels follow where not set: those of what is looked at, or of who "
         "looks"},
        c.shape_for_attn);
  visit({"widening_factor", "Hidden channels of the MLP, in multiples of its outputs"},
        c.widening_factor, at_least(1));
  visit({"query_residual", "Whether the query is added to what attention gives (Eq. 5)"},
        c.query_residual);
  visit({"dropout", "Share dropped in training of what attention and MLP add"}, c.dropout,
        between(0.0, 1.0));
  visit({"attention_dropout", "Share dropped in training of the attention weights"},
        c.attention_dropout, between(0.0, 1.0));
}

// Masks of the two arrays, true where there is an element; undefined: everywhere.
struct AttendMasks {
  Tensor q = {};   // [B, N]
  Tensor kv = {};  // [B, M]
};

}  // namespace perceiver
