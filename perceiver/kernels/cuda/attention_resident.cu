#include "perceiver/kernels/cuda/attention_resident.h"
#include "perceiver/kernels/cuda/attention_resident_forward.h"
#include "perceiver/kernels/cuda/attention_resident_gradient.h"
#include "perceiver/kernels/cuda/device.h"

namespace perceiver {
namespace resident {
namespace {

template <int F, int V>
struct Channels {};

// Calls f with the channels of the case, where there is a kernel for them.
template <typename Function>
bool with_channels(const ResidentAttention& a, Function f) {
  const auto take = [&]<int F, int V>(Channels<F, V> channels) {
    if (a.qk_channels != F || a.v_channels != V) return false;
    f(channels);
    return true;
  };
  return take(Channels<16, 16>()) || take(Channels<16, 32>()) || take(Channels<32, 32>()) ||
         take(Channels<32, 96>()) || take(Channels<32, 160>()) || take(Channels<64, 64>());
}

template <typename Kernel, typename... Arguments>
cudaError_t launch(Kernel kernel, dim3 blocks, size_t bytes, cudaStream_t stream,
                   const Arguments&... arguments) {
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error != cudaSuccess) return error;
  kernel<<<blocks, kThreads, bytes, stream>>>(arguments...);
  return cudaGetLastError();
}

}  // namespace
}  // namespace resident

const char* attention_resident_refusal(const ResidentAttention& a, bool with_gradients) {
  using namespace resident;
  if (with_gradients && !a.bfloat16) return "has gradients in bfloat16 alone";
  if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8)
    return "needs a GPU of sm_80 or later";
  if (a.queries < 1 || a.keys < 1) return "needs queries and keys";
  if (a.batch > 65535 || a.heads > 65535) return "takes at most 65,535 examples and heads";
  size_t bytes = 0;
  const bool known = with_channels(a, [&]<int F, int V>(Channels<F, V>) {
    bytes = with_gradients ? GradientMemory<F, V>::bytes(a.queries, a.keys)
                           : ForwardMemory<F, V>::bytes(a.keys);
  });
  if (!known) return "has no kernel for these channels of a head";
  const auto room = static_cast<size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  return bytes > room ? "needs a head's rows to fit shared memory" : nullptr;
}

cudaError_t attention_resident(const ResidentAttention& a, cudaStream_t stream) {
  using namespace resident;
  cudaError_t error = cudaErrorInvalidValue;
  if (a.batch == 0 || a.heads == 0) return cudaSuccess;
  const dim3 blocks(static_cast<unsigned>((a.queries + kQueriesOfBlock - 1) / kQueriesOfBlock),
                    static_cast<unsigned>(a.heads), static_cast<unsigned>(a.batch));
  with_channels(a, [&]<int F, int V>(Channels<F, V>) {
    const size_t bytes = ForwardMemory<F, V>::bytes(a.keys);
    error = a.bfloat16 ? launch(attend_kernel<__nv_bfloat16, F, V>, blocks, bytes, stream, a)
                       : launch(attend_kernel<__half, F, V>, blocks, bytes, stream, a);
  });
  return error;
}

cudaError_t attention_resident_gradients(const ResidentAttention& a, const ResidentGradients& g,
                                         cudaStream_t stream) {
  using namespace resident;
  cudaError_t error = cudaErrorInvalidValue;
  if (a.batch == 0 || a.heads == 0) return cudaSuccess;
  const dim3 blocks(static_cast<unsigned>(a.heads), static_cast<unsigned>(a.batch));
  with_channels(a, [&]<int F, int V>(Channels<F, V>) {
    error = launch(gradient_kernel<__nv_bfloat16, F, V>, blocks,
                   GradientMemory<F, V>::bytes(a.queries, a.keys), stream, a, g);
  });
  return error;
}

}  // namespace perceiver
