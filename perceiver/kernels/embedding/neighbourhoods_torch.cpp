#include "perceiver/kernels/embedding/neighbourhoods_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/embedding/gather_neighbourhoods.h"

namespace perceiver {

bool cuda_neighbourhoods_take(const Tensor& pictures, int64_t size) {
  return pictures.is_cuda() && pictures.element_size() == 2 && pictures.size(2) == 3 &&
         (pictures.size(1) == 1 || pictures.size(1) == 2) && (size == 1 || size == 3);
}

Tensor cuda_neighbourhood_rows(const Tensor& pictures, int64_t size) {
  const c10::cuda::CUDAGuard guard(pictures.device());
  const Tensor all = pictures.contiguous();
  const int64_t pixels = all.size(3) * all.size(4);
  const Tensor out =
      at::empty({all.size(0), pixels, padded_channels(all.size(1) * all.size(2) * size * size)},
                all.options());
  const Neighbourhoods n{.pictures = static_cast<const uint16_t*>(all.const_data_ptr()),
                         .batch = all.size(0),
                         .num_pictures = all.size(1),
                         .height = all.size(3),
                         .width = all.size(4),
                         .size = size};
  C10_CUDA_CHECK(gather_neighbourhoods(n, static_cast<uint16_t*>(out.data_ptr()),
                                       c10::cuda::getCurrentCUDAStream()));
  return out;
}

}  // namespace perceiver
