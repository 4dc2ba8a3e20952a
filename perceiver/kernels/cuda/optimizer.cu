#include <type_traits>

#include "perceiver/kernels/cuda/optimizer.h"
#include "perceiver/kernels/cuda/optimizer_table.h"
#include "perceiver/kernels/cuda/pack.h"

namespace perceiver {

namespace {

constexpr int kThreads = 256;

// FusedRule in the arithmetic of the kernels. The rests are taken in double: 1 - 0.999 in float32
// has only four good digits.
struct Rule {
  float beta1, rest1, beta2, rest2, epsilon, weight_decay;
  bool clips;

  explicit Rule(const FusedRule& r)
      : beta1(static_cast<float>(r.beta1)),
        rest1(static_cast<float>(1.0 - r.beta1)),
        beta2(static_cast<float>(r.beta2)),
        rest2(static_cast<float>(1.0 - r.beta2)),
        epsilon(static_cast<float>(r.epsilon)),
        weight_decay(static_cast<float>(r.weight_decay)),
        clips(r.clip > 0) {}
};

// A chunk of a tensor, as its block sees it.
struct ChunkView {
  float* value;
  const float* gradient;
  float *first, *second;
  int count, tensor;
  bool decayed, aligned;
};

__device__ bool all_aligned(const ChunkView& c) {
  const auto bits = reinterpret_cast<uintptr_t>(c.value) | reinterpret_cast<uintptr_t>(c.gradient) |
                    reinterpret_cast<uintptr_t>(c.first) | reinterpret_cast<uintptr_t>(c.second);
  return bits % 16 == 0;
}

__device__ ChunkView view_chunk(const FusedTable& table) {
  const FusedChunk chunk = table.chunks[blockIdx.x];
  const FusedEntry entry = table.entries[chunk.tensor];
  const int64_t begin = int64_t{chunk.index} * kFusedChunk;
  const int64_t left = entry.count - begin;
  ChunkView c = {.value = entry.value + begin,
                 .gradient = table.gradients[chunk.tensor] + begin,
                 .first = entry.first + begin,
                 .second = entry.second + begin,
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

// Where the sums of each chunk are: of the gradients, the values and the updates.
__device__ float* gradient_squares(const FusedTable& table) { return table.squares; }
__device__ float* value_squares(const FusedTable& table) {
  return table.squares + table.num_chunks;
}
__device__ float* update_squares(const FusedTable& table) {
  return table.squares + 2 * table.num_chunks;
}

__global__ void __launch_bounds__(kThreads) gradient_squares_kernel(FusedTable table) {
  const ChunkView c = view_chunk(table);
  float sum = 0;
  over_chunk(c, [&]<int V>(Width<V>, int i) {
    float g[V];
    load_pack(c.gradient + i, g);
#pragma unroll
    for (int j = 0; j < V; ++j) sum += g[j] * g[j];
  });
  sum = block_sum(sum);
  if (threadIdx.x == 0) gradient_squares(table)[blockIdx.x] = sum;
}

// What gradients are divided by, in each kernel that reads them.
struct Divisor {
  const float* at;  // null: 1
  __device__ float get() const { return at != nullptr ? *at : 1.0f; }
};

// optax's rule: nothing changes below the limit. A norm that is not a number gives such a factor:
// the comparison below is false for it.
__global__ void clip_kernel(FusedTable table, float clip, Divisor divisor) {
  const double squares = sum_of(gradient_squares(table), table.num_chunks);
  if (threadIdx.x != 0) return;
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
    if (threadIdx.x == 0) gradient_squares(table)[blockIdx.x] = sum;
  }
};

__device__ void move_moments(const Rule& rule, float g, float& m, float& v) {
  m = rule.beta1 * m + rule.rest1 * g;
  v = rule.beta2 * v + rule.rest2 * (g * g);
}

// Adam's direction, both moments corrected for their start at zero.
__device__ float direction(const Rule& rule, const FusedRates& rates, float m, float v) {
  return (m / rates.correction1) / (sqrtf(v) / rates.root_correction2 + rule.epsilon);
}

__device__ float lamb_update(const Rule& rule, const FusedRates& rates, const ChunkView& c, float w,
                             float m, float v) {
  return direction(rule, rates, m, v) + (c.decayed ? rule.weight_decay * w : 0.0f);
}

// Moves the moments; sums the squares of the values and of their updates. The updates are not kept:
// making them again from both moments reads as much as writing and reading them would.
__global__ void __launch_bounds__(kThreads)
    lamb_moments_kernel(FusedTable table, Rule rule, Divisor divisor) {
  const ChunkView c = view_chunk(table);
  const FusedRates rates = *table.rates;
  Gradients gradients(table, rule, divisor);
  float values = 0, updates = 0;
  over_chunk(c, [&]<int V>(Width<V>, int i) {
    float w[V], g[V], m[V], v[V];
    load_pack(c.value + i, w);
    load_pack(c.gradient + i, g);
    load_pack(c.first + i, m);
    load_pack(c.second + i, v);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      move_moments(rule, gradients.take(g[j]), m[j], v[j]);
      const float u = lamb_update(rule, rates, c, w[j], m[j], v[j]);
      values += w[j] * w[j];
      updates += u * u;
    }
    store_pack(c.first + i, m);
    store_pack(c.second + i, v);
  });
  gradients.finish(table);
  values = block_sum(values);
  updates = block_sum(updates);
  if (threadIdx.x != 0) return;
  value_squares(table)[blockIdx.x] = values;
  update_squares(table)[blockIdx.x] = updates;
}

// A block for each tensor. One of zeros, as biases start, moves by the plain update.
__global__ void lamb_ratio_kernel(FusedTable table) {
  const FusedEntry entry = table.entries[blockIdx.x];
  const auto norm = [&](const float* squares) {
    return static_cast<float>(sqrt(sum_of(squares + entry.first_chunk, entry.num_chunks)));
  };
  const float size = norm(value_squares(table)), length = norm(update_squares(table));
  if (threadIdx.x == 0) table.ratios[blockIdx.x] = size == 0 || length == 0 ? 1.0f : size / length;
}

__global__ void __launch_bounds__(kThreads) lamb_apply_kernel(FusedTable table, Rule rule) {
  const ChunkView c = view_chunk(table);
  const FusedRates rates = *table.rates;
  const float rate = table.ratios[c.tensor] * -rates.learning_rate;
  over_chunk(c, [&]<int V>(Width<V>, int i) {
    float w[V], m[V], v[V];
    load_pack(c.value + i, w);
    load_pack(c.first + i, m);
    load_pack(c.second + i, v);
#pragma unroll
    for (int j = 0; j < V; ++j) w[j] += rate * lamb_update(rule, rates, c, w[j], m[j], v[j]);
    store_pack(c.value + i, w);
  });
}

__global__ void __launch_bounds__(kThreads)
    adamw_kernel(FusedTable table, Rule rule, Divisor divisor) {
  const ChunkView c = view_chunk(table);
  const FusedRates rates = *table.rates;
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
      w[j] = kept * w[j] - rates.learning_rate * direction(rule, rates, m[j], v[j]);
    }
    store_pack(c.value + i, w);
    store_pack(c.first + i, m);
    store_pack(c.second + i, v);
  });
  gradients.finish(table);
}

// Where gradients are clipped, their norm must be known before the rule begins; otherwise the rule
// makes it.
void launch_norm(const FusedTable& table, const FusedRule& rule, Divisor divisor,
                 cudaStream_t stream) {
  clip_kernel<<<1, 1024, 0, stream>>>(table, static_cast<float>(rule.clip), divisor);
}
void launch_clip(const FusedTable& table, const FusedRule& rule, Divisor divisor,
                 cudaStream_t stream) {
  gradient_squares_kernel<<<table.num_chunks, kThreads, 0, stream>>>(table);
  launch_norm(table, rule, divisor, stream);
}

}  // namespace

cudaError_t lamb_step(const FusedTable& table, const FusedRule& rule, const float* divisor,
                      cudaStream_t stream) {
  if (table.num_chunks == 0) return cudaErrorInvalidValue;
  if (rule.clip > 0) launch_clip(table, rule, {divisor}, stream);
  lamb_moments_kernel<<<table.num_chunks, kThreads, 0, stream>>>(table, Rule(rule), {divisor});
  lamb_ratio_kernel<<<table.num_tensors, kThreads, 0, stream>>>(table);
  lamb_apply_kernel<<<table.num_chunks, kThreads, 0, stream>>>(table, Rule(rule));
  if (rule.clip <= 0) launch_norm(table, rule, {divisor}, stream);
  return cudaGetLastError();
}

cudaError_t adamw_step(const FusedTable& table, const FusedRule& rule, const float* divisor,
                       cudaStream_t stream) {
  if (table.num_chunks == 0) return cudaErrorInvalidValue;
  if (rule.clip > 0) launch_clip(table, rule, {divisor}, stream);
  adamw_kernel<<<table.num_chunks, kThreads, 0, stream>>>(table, Rule(rule), {divisor});
  if (rule.clip <= 0) launch_norm(table, rule, {divisor}, stream);
  return cudaGetLastError();
}

}  // namespace perceiver
