// Thin layers over ATen: they start as DeepMind's do, and can be constructed without memory,
// neither of which LibTorch's own layers can.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "perceiver/nn/init.h"

namespace perceiver {

enum class LinearInit {
  kAttend,  // variance 1 / in after the cut: the projections and MLPs of attention
  kPlain,   // variance 1 / in before the cut: every other linear layer
  kZeros,   // the layers that put out flow, and the original Perceiver's classes
};

class LinearImpl : public torch::nn::Module {
 public:
  LinearImpl(int64_t in, int64_t out, LinearInit init = LinearInit::kPlain);

  Tensor forward(const Tensor& x);  // [..., in] -> [..., out]

  int64_t flops(int64_t elements) const { return 2 * elements * weight.numel(); }

  Tensor weight;  // [out, in]
  Tensor bias;    // [out]
};
TORCH_MODULE(Linear);

class LayerNormImpl : public torch::nn::Module {
 public:
  explicit LayerNormImpl(int64_t channels);

  Tensor forward(const Tensor& x);  // [..., channels] -> the same

  Tensor weight, bias;
};
TORCH_MODULE(LayerNorm);

// Learned vectors by index: token embeddings, learned positions.
class EmbeddingImpl : public torch::nn::Module {
 public:
  EmbeddingImpl(int64_t count, int64_t channels, Init init = kLearnedVectors);

  Tensor forward(const Tensor& indices);  // [...] -> [..., channels]

  Tensor weight;  // [count, channels]
};
TORCH_MODULE(Embedding);

// A square kernel. The caller pads: released models pad unevenly.
class Conv2dImpl : public torch::nn::Module {
 public:
  struct Shape {
    int64_t in, out, size;
    int64_t stride = 1;
    bool bias = true;
  };
  explicit Conv2dImpl(const Shape& shape);

  Tensor forward(const Tensor& x);  // [B, in, H, W] -> [B, out, H', W']

  int64_t flops(int64_t outputs) const { return 2 * outputs * weight.numel(); }

  Tensor weight;  // [out, in, size, size]
  Tensor bias;    // [out] or undefined

 private:
  int64_t stride_;
};
TORCH_MODULE(Conv2d);

// Running averages as haiku keeps them: of the biased variance, and corrected for their start at
// zero, so that the first batch counts in full.
class BatchNormImpl : public torch::nn::Module {
 public:
  explicit BatchNormImpl(int64_t channels);

  Tensor forward(const Tensor& x);  // [B, channels, H, W] -> the same

  Tensor weight, bias, running_mean, running_var, num_batches;
};
TORCH_MODULE(BatchNorm);

int64_t num_parameters(const torch::nn::Module& module);

}  // namespace perceiver
