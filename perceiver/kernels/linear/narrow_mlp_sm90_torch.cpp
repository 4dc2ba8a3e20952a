#include "perceiver/kernels/linear/narrow_mlp_sm90_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "perceiver/kernels/cuda/device.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90.h"
#include "perceiver/kernels/linear/product_rows.h"

namespace perceiver {
namespace {

bool is_bfloat16(const NarrowMlpLayers& layers) {
  return layers.narrow.scalar_type() == at::kBFloat16;
}

NarrowMlpSizes sizes_of(const NarrowMlpLayers& layers) {
  return {.in = layers.widen.weight.size(1),
          .channels = layers.widen.channels,
          .hidden = layers.widen.weight.size(0),
          .out = layers.narrow.size(0)};
}

}  // namespace

bool cuda_narrow_mlp_takes(const NarrowMlpLayers& layers) {
  const Tensor& narrow = layers.narrow;
  if (!narrow.is_cuda() || (!is_bfloat16(layers) && narrow.scalar_type() != at::kHalf)) {
    return false;
  }
  const c10::cuda::CUDAGuard guard(narrow.device());
  return is_hopper() && narrow_mlp_takes(sizes_of(layers));
}

Tensor cuda_packed_narrow_mlp(const NarrowMlpLayers& layers) {
  const c10::cuda::CUDAGuard guard(layers.narrow.device());
  const NarrowMlpSizes sizes = sizes_of(layers);
  const Tensor packed =
      at::empty({narrow_mlp_packed_bytes(sizes.out)}, layers.narrow.options().dtype(at::kByte));
  // They live until the kernel that reads them is on the stream, as long as they must.
  const Tensor widen = layers.widen.weight.contiguous(), narrow = layers.narrow.contiguous();
  const Tensor widen_bias = layers.widen.bias.contiguous(), bias = layers.narrow_bias.contiguous();
  C10_CUDA_CHECK(pack_narrow_mlp({.bfloat16 = is_bfloat16(layers),
                                  .sizes = sizes,
                                  .widen = widen.const_data_ptr(),
                                  .widen_bias = widen_bias.const_data_ptr(),
                                  .narrow = narrow.const_data_ptr(),
                                  .narrow_bias = bias.const_data_ptr()},
                                 packed.data_ptr(), c10::cuda::getCurrentCUDAStream()));
  return packed;
}

Tensor cuda_narrow_mlp(const Tensor& x, const NarrowMlpLayers& layers, const Tensor& packed,
                       const Tensor& riders) {
  const c10::cuda::CUDAGuard guard(x.device());
  const Tensor rows = product_rows(x), result = new_product(x, layers.narrow);
  const Tensor riding = riders.reshape({-1, riders.size(-1)});
  TORCH_INTERNAL_ASSERT(riding.stride(1) == 1 || riding.size(1) == 1);
  C10_CUDA_CHECK(narrow_mlp_hopper({.bfloat16 = is_bfloat16(layers),
                                    .sizes = sizes_of(layers),
                                    .rows = rows.size(0),
                                    .x = rows.const_data_ptr(),
                                    .x_stride = rows.stride(0),
                                    .packed = packed.const_data_ptr(),
                                    .riders = riding.const_data_ptr(),
                                    .riders_stride = riding.stride(0),
                                    .result = result.data_ptr(),
                                    .result_stride = result.size(-1)},
                                   c10::cuda::getCurrentCUDAStream()));
  return result;
}

}  // namespace perceiver
