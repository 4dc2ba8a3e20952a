#include "perceiver/kernels/product.h"

#include <ATen/ATen.h>

#include "perceiver/kernels/cuda/product.h"

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

}  // namespace perceiver
