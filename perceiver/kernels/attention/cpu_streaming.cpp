#include <ATen/ATen.h>

#include <cmath>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention/attention_kernels.h"
#include "perceiver/kernels/attention/backward.h"
#include "perceiver/kernels/attention/stream.h"

namespace perceiver {

std::string attend_tiled_refusal(const AttentionCase& c) {
  if (!c.device.is_cpu()) return "needs the CPU, the tensors are on " + c.device.str();
  if (!at::isFloatingType(c.dtype) || c.dtype == at::kDouble) {
    return fmt::format("needs float32 or narrower, got {}", toString(c.dtype));
  }
  if (c.dropout) return "does not drop attention weights";
  return "";
}

static AttentionResult forward(const AttentionInputs& in) {
  // Where the CPU cannot multiply in the dtype itself, in float32.
  const auto dtype = stream_takes(in.q.scalar_type()) ? in.q.scalar_type() : at::kFloat;
  AttentionResult result;
  result.out = attend_stream({.q = in.q.to(dtype),
                              .k = in.k.to(dtype),
                              .v = in.v.to(dtype),
                              .kv_mask = in.kv_mask,
                              .scale = 1.0 / std::sqrt(static_cast<double>(in.q.size(3)))},
                             &result.log_sum)
                   .to(in.q.scalar_type());
  return result;
}

Tensor attend_tiled(const AttentionInputs& in) { return attend_with_backward(in, forward); }

}  // namespace perceiver
