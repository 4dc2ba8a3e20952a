#include "perceiver/nn/layers.h"

#include <ATen/ATen.h>

#include <cmath>
#include <tuple>

#include "perceiver/kernels/norm/epsilon.h"
#include "perceiver/nn/batch_parts.h"

namespace perceiver {

// LayerNorm's and BatchNorm's, in both references.
constexpr double kEpsilon = kNormEpsilon;

static Init weight_init(LinearInit init, int64_t fan_in) {
  // The standard deviation that is left of 1 when a normal distribution is cut at +-2.
  constexpr double kCutStddev = 0.87962566103423978;
  const double stddev = 1.0 / std::sqrt(static_cast<double>(fan_in));
  switch (init) {
    case LinearInit::kAttend:
      return truncated_normal(stddev / kCutStddev);
    case LinearInit::kPlain:
      return truncated_normal(stddev);
    case LinearInit::kZeros:
      break;
  }
  return kZeros;
}

LinearImpl::LinearImpl(int64_t in, int64_t out, LinearInit init)
    : weight(register_parameter("weight", new_parameter({out, in}, weight_init(init, in)))),
      bias(register_parameter("bias", new_parameter({out}, kZeros))) {}

Tensor LinearImpl::forward(const Tensor& x) { return at::linear(x, weight, bias); }

LayerNormImpl::LayerNormImpl(int64_t channels)
    : weight(register_parameter("weight", new_parameter({channels}, kOnes))),
      bias(register_parameter("bias", new_parameter({channels}, kZeros))) {}

Tensor LayerNormImpl::forward(const Tensor& x) {
  return at::layer_norm(x, weight.sizes(), weight, bias, kEpsilon);
}

EmbeddingImpl::EmbeddingImpl(int64_t count, int64_t channels, Init init)
    : weight(register_parameter("weight", new_parameter({count, channels}, init))) {}

Tensor EmbeddingImpl::forward(const Tensor& indices) { return at::embedding(weight, indices); }

Conv2dImpl::Conv2dImpl(const Shape& shape) : stride_(shape.stride) {
  const int64_t fan_in = shape.in * shape.size * shape.size;
  weight = register_parameter("weight", new_parameter({shape.out, shape.in, shape.size, shape.size},
                                                      weight_init(LinearInit::kPlain, fan_in)));
  if (shape.bias) bias = register_parameter("bias", new_parameter({shape.out}, kZeros));
}

Tensor Conv2dImpl::forward(const Tensor& x) { return at::conv2d(x, weight, bias, stride_); }

BatchNormImpl::BatchNormImpl(int64_t channels)
    : weight(register_parameter("weight", new_parameter({channels}, kOnes))),
      bias(register_parameter("bias", new_parameter({channels}, kZeros))),
      running_mean(register_buffer("running_mean", new_parameter({channels}, kZeros))),
      running_var(register_buffer("running_var", new_parameter({channels}, kOnes))),
      num_batches(register_buffer("num_batches", new_parameter({}, kZeros))) {}

Tensor BatchNormImpl::forward(const Tensor& x) {
  const auto per_channel = [](const Tensor& t) { return t.view({1, -1, 1, 1}); };
  Tensor mean = running_mean, var = running_var;
  BatchPartsImpl* const parts = is_training() ? parts_of(*this) : nullptr;
  if (parts != nullptr) {
    std::tie(mean, var) = parts->statistics(x);
  } else if (is_training()) {
    // In float32 where autocast's convolution has put out less: 8 bits are too few for an average.
    const bool narrow = x.element_size() < 4;
    mean = x.mean({0, 2, 3}, /*keepdim=*/false, narrow ? at::kFloat : x.scalar_type());
    var = (x - per_channel(mean)).square().mean({0, 2, 3});
    update_running(*this, mean, var);
  }
  const Tensor scale = weight * (var + kEpsilon).rsqrt();
  const Tensor y = x * per_channel(scale) + per_channel(bias - mean * scale);
  return y.to(at::promote_types(x.scalar_type(), weight.scalar_type()));
}

int64_t num_parameters(const torch::nn::Module& module) {
  int64_t total = 0;
  for (const Tensor& p : module.parameters()) total += p.numel();
  return total;
}

}  // namespace perceiver
