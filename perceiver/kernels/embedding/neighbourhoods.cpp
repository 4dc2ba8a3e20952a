#include "perceiver/kernels/embedding/neighbourhoods.h"

#include <ATen/ATen.h>

#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/embedding/neighbourhoods_torch.h"

namespace perceiver {

Tensor neighbourhood_rows(const Tensor& pictures, int64_t size) {
  if (cuda_neighbourhoods_take(pictures, size)) return cuda_neighbourhood_rows(pictures, size);
  const int64_t count = pictures.size(1), colours = pictures.size(2),
                values = size * size * colours;
  const Tensor columns = at::im2col(pictures.flatten(0, 1), {size, size}, /*dilation=*/{1, 1},
                                    /*padding=*/{size / 2, size / 2}, /*stride=*/{1, 1});
  const Tensor rows = columns.view({-1, count, colours, size * size, columns.size(2)})
                          .permute({0, 4, 1, 3, 2})  // B, pixel, picture, place, colour
                          .flatten(2);
  return at::constant_pad_nd(rows, {0, padded_channels(count * values) - count * values});
}

}  // namespace perceiver
