#include "perceiver/kernels/embedding/row_tables_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "perceiver/kernels/cuda/torch_dtype.h"
#include "perceiver/kernels/embedding/gather_rows.h"

namespace perceiver {

bool cuda_tables_take(const RowTables& t, const Tensor& ids, at::ScalarType dtype) {
  constexpr int64_t kMostExamples = 65535;
  const at::ScalarType from = t.of_ids.scalar_type();
  return t.of_ids.is_cuda() && ids.is_cuda() && ids.scalar_type() == at::kLong &&
         ids.size(0) <= kMostExamples && (from == at::kFloat || from == dtype) &&
         (dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf);
}

Tensor cuda_looked_up(const RowTables& t, const Tensor& ids, at::ScalarType dtype) {
  const c10::cuda::CUDAGuard guard(ids.device());
  const Tensor all = ids.contiguous();
  const Tensor out =
      at::empty({ids.size(0), ids.size(1), t.bias.size(0)}, t.bias.options().dtype(dtype));
  const LookUp rows{.batch = ids.size(0),
                    .length = ids.size(1),
                    .channels = t.bias.size(0),
                    .of_ids = t.of_ids.const_data_ptr(),
                    .of_places = t.of_places.const_data_ptr(),
                    .scales = t.scales.const_data_ptr<float>(),
                    .num_places = t.scales.size(1),
                    .bias = t.bias.const_data_ptr<float>(),
                    .ids = all.const_data_ptr<int64_t>(),
                    .out = out.data_ptr()};
  C10_CUDA_CHECK(look_up(rows, cuda_dtype(t.of_ids.scalar_type()), cuda_dtype(dtype),
                         c10::cuda::getCurrentCUDAStream()));
  return out;
}

}  // namespace perceiver
