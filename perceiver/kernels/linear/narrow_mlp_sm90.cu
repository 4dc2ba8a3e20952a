#include <algorithm>
#include <type_traits>

#include "perceiver/kernels/cuda/device.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_kernel.h"

namespace perceiver {
namespace hopper {
namespace {

// f(a number that is a constant): as many outputs as the kernel has.
template <typename Function>
auto with_outputs(int64_t out, Function f) {
  return outputs_of_kernel(out) == 2 ? f(std::integral_constant<int, 2>{})
                                     : f(std::integral_constant<int, kMostMlpOutputs>{});
}

// LayerNorm(x) widen^T + bias, times the deviation, is x widen^T - mean sums + deviation bias. The
// two last terms are eight more channels: mean and deviation there, each as a sum of as many 16-bit
// numbers as float32 has digits for, and here what they are multiplied with.
template <typename T>
__device__ float norm_weight(int i, float sum, float bias) {
  const float sum_0 = to_float(from_float<T>(sum));
  const float factors[] = {-sum_0, sum_0 - sum, -sum_0, sum_0 - sum, -sum_0, bias, bias, 0};
  return factors[i];
}

// A warp packs the weights of one hidden channel. What is missing is zero.
template <typename T, int kOutputs>
__global__ void pack_kernel(NarrowMlpWeights w, uint8_t* packed) {
  using Narrow = MlpNarrow<kOutputs>;
  const int hidden = blockIdx.x, part = part_of(hidden);
  const bool is_there = hidden < w.sizes.hidden;
  const auto at = [](const void* array, int64_t i) { return static_cast<const T*>(array)[i]; };
  T* const first =
      reinterpret_cast<T*>(packed + part_at(part)) + 8 * (hidden - first_of_part(part));
  const auto element = [&](int i) -> T& {
    return first[i / 8 * piece_column_bytes(part) / 2 + i % 8];
  };
  float sum = 0;
  for (int i = threadIdx.x; i < kMlpChannels; i += 32) {
    const int channel = channel_of(i / 8, i % 8);
    const T weight = is_there && channel < w.sizes.in ? at(w.widen, hidden * w.sizes.in + channel)
                                                      : from_float<T>(0);
    element(i) = weight;
    sum += to_float(weight);
  }
  sum = warp_sum(sum);
  const int i = threadIdx.x;
  const float bias = is_there ? to_float(at(w.widen_bias, hidden)) : 0.0f;
  if (i < 8) element(kMlpChannels + i) = from_float<T>(norm_weight<T>(i, sum, bias));
  if (i >= kOutputs) return;
  auto* const narrow = reinterpret_cast<float*>(packed + Narrow::kAt);
  auto* const biases = reinterpret_cast<float*>(packed + Narrow::kBiasAt);
  const bool is_output = i < w.sizes.out;
  narrow[hidden / 2 * Narrow::kFloats + 2 * i + hidden % 2] =
      is_there && is_output ? 0.5f * to_float(at(w.narrow, i * w.sizes.hidden + hidden)) : 0.0f;
  if (hidden == 0) biases[i] = is_output ? to_float(at(w.narrow_bias, i)) : 0.0f;
}

template <typename T>
cudaError_t pack_weights(const NarrowMlpWeights& w, void* packed, cudaStream_t stream) {
  return with_outputs(w.sizes.out, [&](auto outputs) {
    pack_kernel<T, outputs()><<<kMlpHidden, 32, 0, stream>>>(w, static_cast<uint8_t*>(packed));
    return cudaGetLastError();
  });
}

template <class Tile>
cudaError_t start(const NarrowMlp& p, cudaStream_t stream) {
  const int64_t tiles = (p.rows + kMlpGroupRows - 1) / kMlpGroupRows;
  const int64_t processors = device_attribute(cudaDevAttrMultiProcessorCount);
  const auto blocks = static_cast<unsigned>(std::min(tiles, processors));
  return start_early(
      narrow_mlp_kernel<Tile>, {dim3(blocks), dim3(kMlpThreads), Tile::kSharedBytes, stream},
      NarrowMlpArguments{p, static_cast<int>(tiles), static_cast<int>(p.sizes.channels),
                         1.0f / static_cast<float>(p.sizes.channels)});
}

// Optical flow's own kernel, and one for all else.
template <typename T>
cudaError_t start_for(const NarrowMlp& p, cudaStream_t stream) {
  const bool full = p.sizes.in == kMlpChannels && p.sizes.channels >= 32 * kMlpGroups;
  if (full && outputs_of_kernel(p.sizes.out) == 2) return start<MlpTile<T, 2, true>>(p, stream);
  return with_outputs(p.sizes.out,
                      [&](auto outputs) { return start<MlpTile<T, outputs(), false>>(p, stream); });
}

}  // namespace
}  // namespace hopper

int64_t narrow_mlp_packed_bytes(int64_t out) {
  return hopper::with_outputs(
      out, [](auto outputs) { return int64_t{hopper::MlpNarrow<outputs()>::kEnd}; });
}

cudaError_t pack_narrow_mlp(const NarrowMlpWeights& w, void* packed, cudaStream_t stream) {
  return w.bfloat16 ? hopper::pack_weights<__nv_bfloat16>(w, packed, stream)
                    : hopper::pack_weights<__half>(w, packed, stream);
}

cudaError_t narrow_mlp_hopper(const NarrowMlp& p, cudaStream_t stream) {
  return p.bfloat16 ? hopper::start_for<__nv_bfloat16>(p, stream)
                    : hopper::start_for<__half>(p, stream);
}

}  // namespace perceiver
