// The Transformer encoder of the paper's baselines: BERT (Sec. 4.1) and AlphaStar's (App. B).
#pragma once

#include "perceiver/core/count.h"
#include "perceiver/nn/attention.h"

namespace perceiver {

struct TransformerConfig {
  int64_t num_layers = 12;
  int64_t num_heads = 12;
  int64_t mlp_channels = 3072;
  std::optional<int64_t> attention_channels = {};
  double dropout = 0.0;
};

template <typename Visitor>
void fields(Visitor& visit, TransformerConfig& c) {
  visit({"num_layers", "Layers, each with weights of its own"}, c.num_layers,
        between(1, kMostLayers));
  visit({"num_heads", "Heads that attend side by side; they must divide the channels"}, c.num_heads,
        at_least(1));
  visit({"mlp_channels", "Hidden channels of each layer's MLP"}, c.mlp_channels, at_least(1));
  visit({"attention_channels",
         "Channels of queries, keys and values over all heads; not set: as the elements have"},
        c.attention_channels, at_least(1));
  visit({"dropout", "Share dropped in training of what each layer adds"}, c.dropout,
        between(0.0, 1.0));
}

// One layer, normalised after each residual as in BERT.
class TransformerLayerImpl : public torch::nn::Module {
 public:
  TransformerLayerImpl(int64_t channels, const TransformerConfig& config, Gelu form);

  // x [B, M, C], mask [B, M] -> [B, M, C]
  Tensor forward(const Tensor& x, const Tensor& mask);

  AttentionCase attention_case(int64_t elements) const;
  int64_t flops(int64_t elements) const;

 private:
  double dropout_;
  QkvAttention attention_{nullptr};
  Mlp mlp_{nullptr};
  LayerNorm norm_attention_{nullptr}, norm_mlp_{nullptr};
};
TORCH_MODULE(TransformerLayer);

class TransformerImpl : public torch::nn::Module {
 public:
  TransformerImpl(int64_t channels, const TransformerConfig& config, Gelu form = Gelu::kErf);

  // x [B, M, C], mask [B, M] -> [B, M, C]
  Tensor forward(Tensor x, const Tensor& mask = {});

  const std::vector<TransformerLayer>& layers() const { return layers_; }

 private:
  std::vector<TransformerLayer> layers_;
};
TORCH_MODULE(Transformer);

}  // namespace perceiver
