#include "perceiver/kernels/attention_narrow.h"

#include "perceiver/kernels/cuda/narrow_glue.h"

namespace perceiver {

std::string attend_narrow_refusal(const AttentionCase& c) {
  if (!c.device.is_cuda()) return "needs the GPU, the tensors are on " + c.device.str();
  if (c.dropout) return "does not drop attention weights";
  if (c.needs_grad) return "has no gradients";
  if (c.masked) return "does not take masks of keys";
  if (c.qk_channels != c.v_channels) return "needs as many channels of keys as of values";
  return cuda_narrow_refusal(c);
}

Tensor attend_narrow(const AttentionInputs& in) { return cuda_attend_narrow(in); }

}  // namespace perceiver
