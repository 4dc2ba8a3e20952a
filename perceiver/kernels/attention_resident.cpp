#include "perceiver/kernels/attention_resident.h"

#include "perceiver/kernels/attention_backward.h"
#include "perceiver/kernels/cuda/resident_glue.h"

namespace perceiver {

std::string attend_resident_refusal(const AttentionCase& c) {
  if (!c.device.is_cuda()) return "needs the GPU, the tensors are on " + c.device.str();
  if (c.dropout) return "does not drop attention weights";
  return cuda_resident_refusal(c);
}

Tensor attend_resident(const AttentionInputs& in) {
  return attend_with_backward(in, cuda_attend_resident, cuda_resident_gradients);
}

}  // namespace perceiver
