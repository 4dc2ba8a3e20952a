#include <algorithm>
#include <type_traits>

#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/optimizer/lamb_step.h"
#include "perceiver/kernels/optimizer/optimizer_step.h"
#include "perceiver/kernels/optimizer/parameter_table.h"
#include "perceiver/kernels/optimizer/step_rules.h"

namespace perceiver {

namespace {

constexpr int kThreads = 256;

// A chunk of a tensor, as its block sees it.
struct ChunkView {
  float* value;
  const float* gradient;
  float *first, *second;
  NarrowCopy narrow;
  int count, tensor;
  bool decayed, aligned;
};

__device__ bool all_aligned(const ChunkView& c) {
  const auto bits = reinterpret_cast<uintptr_t>(c.value) | reinterpret_cast<uintptr_t>(c.gradient) |
                    reinterpret_cast<uintptr_t>(c.first) | reinterpret_cast<uintptr_t>(c.second);
  return bits % 16 == 0;
}

__device__ ChunkView view_chunk(const FusedTable& table, int number) {
  const FusedChunk chunk = table.chunks[number];
  const FusedEntry entry = table.entries[chunk.tensor];
  const int64_t begin = int64_t{chunk.index} * kFusedChunk;
  const int64_t left = entry.count - begin;
  ChunkView c = {.value = entry.value + begin,
                 .gradient = table.gradients[chunk.tensor] + begin,
                 .first = entry.first + begin,
                 .second = entry.second + begin,
                 .narrow = NarrowCopy(entry, begin),
                 .count = static_cast<int>(left < kFusedChunk ? left : kFusedChunk),
                 .tensor = chunk.tensor,
                 .decayed = entry.decayed};
  c.aligned = all_aligned(c);
  // Pointers out of a table are generic to the compiler unless told.
  __builtin_assume(__isGlobal(c.value) && __isGlobal(c.gradient));
  __builtin_assume(__isGlobal(c.first) && __isGlobal(c.second));
  return c;
}

template <int V>
using Width = std::integral_constant<int, V>;

// f(Width<V>, i) for every V elements from i of the chunk, by fours where they are aligned.
template <typename Function>
__device__ void over_chunk(const ChunkView& c, Function f) {
  const int packed = c.aligned ? c.count / 4 * 4 : 0;
#pragma unroll 2
  for (int i = threadIdx.x * 4; i < packed; i += kThreads * 4) f(Width<4>{}, i);
  for (int i = packed + threadIdx.x; i < c.count; i += kThreads) f(Width<1>{}, i);
}

// Sum over the block, in thread 0, always in the same order.
template <typename T>
__device__ T block_sum(T x) {
  __shared__ T slots[32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  __syncthreads();  // an earlier sum's slots have been read
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = x;
  __syncthreads();
  T sum = 0;
  if (threadIdx.x == 0) {
    for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) sum += slots[warp];
  }
  return sum;
}

// In double: there may be tens of thousands of them.
__device__ double sum_of(const float* values, int count) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += values[i];
  return block_sum(sum);
}

__global__ void __launch_bounds__(kThreads) gradient_squares_kernel(FusedTable table) {
  const ChunkView c = view_chunk(table, blockIdx.x);
  float sum = 0;
  over_chunk(c, [&]<int V>(Width<V>, int i) {
    float g[V];
    load_pack(c.gradient + i, g);
#pragma unroll
    for (int j = 0; j < V; ++j) sum += g[j] * g[j];
  });
  sum = block_sum(sum);
  if (threadIdx.x == 0) table.chunk_squares[blockIdx.x] = sum;
}

// optax's rule: nothing changes below the limit. A norm that is not a number gives such a factor:
// the comparison below is false for it. Once a step: it counts them.
__global__ void clip_kernel(FusedTable table, const float* sums, int num_sums, float clip,
                            Divisor divisor) {
  const double squares = sum_of(sums, num_sums);
  if (threadIdx.x != 0) return;
  ++*table.step;
  const float divided = divisor.get();
  const float norm = static_cast<float>(sqrt(squares)) / divided;
  const float scale = clip > 0 ? clip / norm : 1.0f;
  *table.gradient_norm = norm;
  *table.gradient_factor = (scale > 1.0f ? 1.0f : scale) / divided;
}

// The gradients of a chunk as the rules take them. Where none are clipped, their squares are summed
// on the way, and nobody reads them twice.
struct Gradients {
  float factor, squares = 0;
  bool clipped;

  __device__ Gradients(const FusedTable& table, const Rule& rule, Divisor divisor)
      : factor(rule.clips ? *table.gradient_factor : 1.0f / divisor.get()), clipped(rule.clips) {}
  __device__ float take(float g) {
    squares += g * g;
    return g * factor;
  }
  // All threads of the block call it.
  __device__ void finish(const FusedTable& table) const {
    if (clipped) return;
    const float sum = block_sum(squares);
    if (threadIdx.x == 0) table.chunk_squares[blockIdx.x] = sum;
  }
};

// Of the tensors that lamb_kernel did not keep. Their updates are made again from both moments,
// which reads as much as writing and reading them would.
__global__ void __launch_bounds__(kThreads)
    lamb_apply_kernel(FusedTable table, int first_chunk, Rule rule) {
  const ChunkView c = view_chunk(table, first_chunk + blockIdx.x);
  const AdamDirection direction(rule, *table.rates);
  const float decay = c.decayed ? rule.weight_decay : 0.0f;
  const float rate = table.ratios[c.tensor].ratio * -table.rates->learning_rate;
  over_chunk(c, [&]<int V>(Width<V>, int i) {
    float w[V], m[V], v[V];
    load_pack(c.value + i, w);
    load_pack(c.first + i, m);
    load_pack(c.second + i, v);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      w[j] = __fmaf_rn(rate, __fmaf_rn(decay, w[j], direction.of(m[j], v[j])), w[j]);
    }
    store_pack(c.value + i, w);
    c.narrow.put(i, w);
  });
}

__global__ void __launch_bounds__(kThreads)
    adamw_kernel(FusedTable table, Rule rule, Divisor divisor) {
  const ChunkView c = view_chunk(table, blockIdx.x);
  const FusedRates rates = *table.rates;
  const AdamDirection direction(rule, rates);
  Gradients gradients(table, rule, divisor);
  const float kept = c.decayed ? 1.0f - rates.learning_rate * rule.weight_decay : 1.0f;
  over_chunk(c, [&]<int V>(Width<V>, int i) {
    float w[V], g[V], m[V], v[V];
    load_pack(c.value + i, w);
    load_pack(c.gradient + i, g);
    load_pack(c.first + i, m);
    load_pack(c.second + i, v);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      move_moments(rule, gradients.take(g[j]), m[j], v[j]);
      w[j] = kept * w[j] - rates.learning_rate * direction.of(m[j], v[j]);
    }
    store_pack(c.value + i, w);
    c.narrow.put(i, w);
    store_pack(c.first + i, m);
    store_pack(c.second + i, v);
  });
  gradients.finish(table);
}

struct Sums {
  const float* at;
  int count;
};
Sums chunk_sums(const FusedTable& table) { return {table.chunk_squares, table.num_chunks}; }

// Where gradients are clipped, their norm must be known before the rule begins; otherwise the rule
// makes it.
void launch_norm(const FusedTable& table, const FusedRule& rule, Sums sums, Divisor divisor,
                 cudaStream_t stream) {
  clip_kernel<<<1, 1024, 0, stream>>>(table, sums.at, sums.count, static_cast<float>(rule.clip),
                                      divisor);
}
void launch_clip(const FusedTable& table, const FusedRule& rule, Divisor divisor,
                 cudaStream_t stream) {
  gradient_squares_kernel<<<table.num_chunks, kThreads, 0, stream>>>(table);
  launch_norm(table, rule, chunk_sums(table), divisor, stream);
}

constexpr int kSlotBytes = 2 * kLambItem * static_cast<int>(sizeof(float));

// Blocks wait for each other: they are started together or not at all.
cudaError_t launch_lamb(const FusedTable& table, const Rule& rule, Divisor divisor,
                        cudaStream_t stream) {
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(table.lamb_blocks);
  config.blockDim = dim3(kLambAllThreads);
  config.dynamicSmemBytes = static_cast<size_t>(table.lamb_slots) * kSlotBytes;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, lamb_kernel, table, rule, divisor);
}

}  // namespace

cudaError_t lamb_room(LambRoom* room) {
  int device = 0, processors = 0, of_block = 0, of_processor = 0, reserved = 0, blocks = 0;
  cudaFuncAttributes kernel{};
  cudaError_t error = cudaGetDevice(&device);
  const auto ask = [&](int* value, cudaDeviceAttr attribute) {
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(value, attribute, device);
  };
  ask(&processors, cudaDevAttrMultiProcessorCount);
  ask(&of_block, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  ask(&of_processor, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  ask(&reserved, cudaDevAttrReservedSharedMemoryPerBlock);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&kernel, lamb_kernel);
  if (error != cudaSuccess) return error;
  const int bytes = std::min(of_block, of_processor / kLambBlocks - reserved) -
                    static_cast<int>(kernel.sharedSizeBytes);
  const int slots = std::min(bytes / kSlotBytes, kLambMostSlots);
  if (slots <= 0) return cudaErrorInvalidConfiguration;
  error = cudaFuncSetAttribute(lamb_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               slots * kSlotBytes);
  if (error != cudaSuccess) return error;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, lamb_kernel, kLambAllThreads,
                                                        static_cast<size_t>(slots) * kSlotBytes);
  *room = {.blocks = blocks * processors, .slots = slots};
  return error;
}

cudaError_t lamb_step(const FusedTable& table, const FusedRule& rule, const float* divisor,
                      cudaStream_t stream) {
  if (table.num_chunks == 0) return cudaErrorInvalidValue;
  if (rule.clip > 0) launch_clip(table, rule, {divisor}, stream);
  const cudaError_t error = launch_lamb(table, Rule(rule), {divisor}, stream);
  if (error != cudaSuccess) return error;
  if (const int others = table.num_chunks - table.num_kept_chunks; others > 0) {
    lamb_apply_kernel<<<others, kThreads, 0, stream>>>(table, table.num_kept_chunks, Rule(rule));
  }
  if (rule.clip <= 0) {
    launch_norm(table, rule, {table.tensor_squares, table.num_tensors}, {divisor}, stream);
  }
  return cudaGetLastError();
}

cudaError_t adamw_step(const FusedTable& table, const FusedRule& rule, const float* divisor,
                       cudaStream_t stream) {
  if (table.num_chunks == 0) return cudaErrorInvalidValue;
  if (rule.clip > 0) launch_clip(table, rule, {divisor}, stream);
  adamw_kernel<<<table.num_chunks, kThreads, 0, stream>>>(table, Rule(rule), {divisor});
  if (rule.clip <= 0) launch_norm(table, rule, chunk_sums(table), {divisor}, stream);
  return cudaGetLastError();
}

}  // namespace perceiver
