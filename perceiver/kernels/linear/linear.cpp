#include "perceiver/kernels/linear/linear.h"

#include <ATen/ATen.h>

#include "perceiver/kernels/linear/cublaslt_torch.h"
#include "perceiver/kernels/linear/gemm_sm90_torch.h"
#include "perceiver/kernels/norm/normalised_rows.h"

namespace perceiver {

Tensor multiplied(const Product& p) {
  if (cuda_product_takes(p)) return cuda_multiplied(p);
  if (p.gelu && p.x.is_cuda()) {
    std::vector<int64_t> sizes = p.x.sizes().vec();
    sizes.back() = p.weight.size(0);
    const Tensor rows = p.x.reshape({-1, p.x.size(-1)});
    return at::_addmm_activation(p.bias, rows, p.weight.t(), 1, 1, /*use_gelu=*/true).view(sizes);
  }
  const Tensor out = at::linear(p.x, p.weight, p.bias);
  if (p.gelu) return at::gelu(out, "tanh");
  return p.residual.defined() ? out + p.residual : out;
}

MeasuredRows multiplied_and_measured(const Product& p, int64_t channels) {
  if (cuda_measured_product_takes(p)) return cuda_multiplied_and_measured(p, channels);
  return {multiplied(p)};
}

Tensor multiplied_normed(const MeasuredRows& x, const NormedLayer& layer, bool gelu) {
  if (cuda_normed_product_takes(x, layer)) return cuda_multiplied_normed(x, layer, gelu);
  const int64_t padded = layer.weight.size(1);
  // The constant meets weights of zero.
  const Tensor normed =
      normalised_padded(x.rows.narrow(-1, 0, layer.channels), layer.weight.scalar_type(), padded,
                        /*constant=*/padded > layer.channels);
  return multiplied({.x = normed, .weight = layer.weight, .bias = layer.bias, .gelu = gelu});
}

}  // namespace perceiver
