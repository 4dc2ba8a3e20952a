#include <algorithm>

#include "perceiver/kernels/cuda/pack.h"
#include "perceiver/kernels/cuda/sum_parts.h"
#include "perceiver/kernels/embedding/embedding.h"

namespace perceiver {
namespace {

constexpr int kThreads = 256;
constexpr int kExamples = 8;  // that a block of embed_kernel gives the same place

template <int V>
__global__ void __launch_bounds__(kThreads) embed_kernel(EmbeddingPass p) {
  const int64_t place = blockIdx.x, first = int64_t{blockIdx.y} * kExamples;
  for (int64_t channel = int64_t{threadIdx.x} * V; channel < p.shape.channels;
       channel += kThreads * V) {
    float at_place[V] = {}, x[kExamples][V];
    if (p.places != nullptr) load_pack(p.places + place * p.shape.channels + channel, at_place);
#pragma unroll
    for (int e = 0; e < kExamples; ++e) {
      const int64_t id = p.ids[min(first + e, p.shape.batch - 1) * p.shape.length + place];
      load_pack(p.table + id * p.shape.channels + channel, x[e]);
    }
#pragma unroll
    for (int e = 0; e < kExamples; ++e) {
      if (first + e >= p.shape.batch) break;
#pragma unroll
      for (int j = 0; j < V; ++j) x[e][j] += at_place[j];
      store_pack(p.out + ((first + e) * p.shape.length + place) * p.shape.channels + channel, x[e]);
    }
  }
}

template <int V>
void launch_embed(const EmbeddingPass& p, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(p.shape.length),
                    static_cast<unsigned>((p.shape.batch + kExamples - 1) / kExamples));
  const int64_t warps = std::min<int64_t>((p.shape.channels / V + 31) / 32, kThreads / 32);
  embed_kernel<V><<<blocks, static_cast<unsigned>(32 * warps), 0, stream>>>(p);
}

// A block of the gradient has some channels, one a thread, some ids, and the elements of some
// places. It makes a list of those that have its ids, then adds them up in shared memory, where
// each thread looks at its own channel alone: there is nothing to wait for, and the order is that
// of the elements. With the ids of bytes three blocks fit a multiprocessor.
constexpr int kChannels = 64, kWarps = kChannels / 32, kBlocks = 3 * 132;
constexpr int kMostIds = 288, kFewIds = 64;  // of a block: all, or some of more than that
constexpr int kListed = 2048;                // elements of a block: longer sums are less exact
constexpr int kAhead = 32;                   // elements asked for while those before are added

// A listed element: its row, whether it is the last of its place, and which of the sums is its own.
constexpr unsigned kSlots = 511, kLast = 512, kRowShift = 10;
static_assert(kMostElements <= int64_t{1} << (32 - kRowShift) && kMostIds < kSlots);

struct Shares {
  int64_t across, ids, ranges;  // blocks along channels; ids of a block; blocks along ids
  int64_t groups, elements;     // blocks along places; elements of each of a block's lists, at most
  int64_t words() const { return (ids + 1) * kChannels + kWarps * elements; }
};
Shares shares_of(const EmbeddingShape& s) {
  const int64_t across = (s.channels + kChannels - 1) / kChannels;
  const int64_t ids = s.count <= kMostIds ? s.count : kFewIds;
  const int64_t ranges = (s.count + ids - 1) / ids;
  const int64_t most = std::max<int64_t>(1, kListed / s.batch);  // places
  const int64_t groups = std::max((s.length + most - 1) / most,
                                  std::clamp<int64_t>(kBlocks / (across * ranges), 1, s.length));
  const int64_t all = (s.length + groups - 1) / groups * s.batch;
  const int64_t elements = ((all + kWarps - 1) / kWarps + kAhead - 1) / kAhead * kAhead;
  return {across, ids, ranges, groups, elements};
}

// The elements of a block, place by place, as each of its warps lists its share of them.
struct Listed {
  int64_t first_place, first_id;
  int count, ids;
  bool all;  // those of other ids too, for a sum that nobody reads
};
__device__ int list_elements(const EmbeddingGradient& p, const Listed& of, int begin, int end,
                             unsigned* list) {
  constexpr int kTogether = 4;
  const int lane = threadIdx.x % 32, batch = static_cast<int>(p.shape.batch);
  int listed = 0;
  for (int first = begin; first < end; first += 32 * kTogether) {
    unsigned row[kTogether];
    int64_t id[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int element = min(first + 32 * k + lane, end - 1);
      row[k] = static_cast<unsigned>(element % batch * p.shape.length + of.first_place +
                                     element / batch);
      id[k] = p.ids[row[k]] - of.first_id;
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const bool mine = id[k] >= 0 && id[k] < of.ids;
      const bool kept = first + 32 * k + lane < end && (mine || of.all);
      const unsigned who = __ballot_sync(0xffffffffu, kept);
      const unsigned slot = mine ? static_cast<unsigned>(id[k]) : of.ids;
      const unsigned last = (first + 32 * k + lane + 1) % batch == 0 ? kLast : 0;
      if (kept) list[listed + __popc(who & ((1u << lane) - 1))] = row[k] << kRowShift | last | slot;
      listed += __popc(who);
    }
  }
  // What is behind the end goes to the sum that nobody reads; a place's last element is before it.
  if (listed + lane < (listed + kAhead - 1) / kAhead * kAhead) list[listed + lane] = of.ids;
  return listed;
}

// Adds x of four listed elements to their sums. Those of the same sum are added to each other
// first, which is more exact, and each then writes the same.
__device__ void add_four(float* sums, const unsigned (&listed)[4], const float* x) {
  float* at[4];
  float sum[4], added[4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) at[i] = sums + (listed[i] & kSlots) * kChannels;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum[i] = *at[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (at[k] == at[i]) added[i] += x[k];
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) *at[i] = sum[i] + added[i];
}

// The sums of one place after the other.
struct PlaceSum {
  float* to;  // of the place that is summed
  int64_t channels;
  bool there;
  float sum = 0;

  __device__ void add_four(const unsigned (&listed)[4], const float* x) {
    const bool ends = ((listed[0] | listed[1] | listed[2] | listed[3]) & kLast) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum += x[i];
      if (!ends || (listed[i] & kLast) == 0) continue;
      if (there) *to = sum;
      sum = 0, to += channels;
    }
  }
};

__global__ void __launch_bounds__(kChannels)
    embedding_gradient_kernel(EmbeddingGradient p, Shares shares) {
  extern __shared__ __align__(16) float shared[];
  __shared__ int listed[kWarps];
  const EmbeddingShape& s = p.shape;
  const int64_t channel = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  const int64_t first_id = blockIdx.y * shares.ids;
  const int64_t first_place = s.length * blockIdx.z / gridDim.z;
  const int64_t end_place = s.length * (blockIdx.z + 1) / gridDim.z;
  const Listed of{.first_place = first_place,
                  .first_id = first_id,
                  .count = static_cast<int>((end_place - first_place) * s.batch),
                  .ids = static_cast<int>(min(shares.ids, s.count - first_id)),
                  .all = p.places != nullptr && blockIdx.y == 0};
  auto* lists = reinterpret_cast<unsigned*>(shared + (shares.ids + 1) * kChannels);
  const int most = static_cast<int>(shares.elements), warp = threadIdx.x / 32;
  const int made = list_elements(p, of, min(warp * most, of.count),
                                 min((warp + 1) * most, of.count), lists + warp * most);
  if (threadIdx.x % 32 == 0) listed[warp] = made;
  float* sums = shared + threadIdx.x;
  for (int i = 0; i <= of.ids; ++i) sums[i * kChannels] = 0;
  __syncthreads();

  const bool there = channel < s.channels;
  const auto channels = static_cast<unsigned>(s.channels);
  const float* column = p.gradient + (there ? channel : 0);
  PlaceSum place{p.places + first_place * s.channels + channel, s.channels, there};
  for (int list = 0; list < kWarps; ++list) {
    const unsigned* entries = lists + list * most;
    const auto four_at = [&](int i, unsigned(&four)[4]) {
      const uint4 all = *reinterpret_cast<const uint4*>(entries + i);
      four[0] = all.x, four[1] = all.y, four[2] = all.z, four[3] = all.w;
    };
    const int count = listed[list];
    float next[kAhead], now[kAhead];
    const auto ask = [&](int first) {
      if (first >= count) return;
#pragma unroll
      for (int j = 0; j < kAhead; j += 4) {
        unsigned four[4];
        four_at(first + j, four);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          next[j + i] = column[uint64_t{four[i] >> kRowShift} * channels];
        }
      }
    };
    ask(0);
    for (int first = 0; first < count; first += kAhead) {
#pragma unroll
      for (int j = 0; j < kAhead; ++j) now[j] = next[j];
      ask(first + kAhead);
#pragma unroll
      for (int j = 0; j < kAhead; j += 4) {
        unsigned four[4];
        four_at(first + j, four);
        add_four(sums, four, now + j);
        if (of.all) place.add_four(four, now + j);
      }
    }
  }
  if (!there) return;
  float* to = gridDim.z == 1 ? p.table : p.workspace + blockIdx.z * s.count * s.channels;
  to += first_id * s.channels + channel;
  for (int i = 0; i < of.ids; ++i) to[i * s.channels] = sums[i * kChannels];
}

}  // namespace

cudaError_t embed(const EmbeddingPass& p, cudaStream_t stream) {
  if (p.shape.batch == 0 || p.shape.length == 0) return cudaSuccess;
  const bool packs = p.shape.channels % 4 == 0 && is_aligned(p.table, 16) &&
                     is_aligned(p.places, 16) && is_aligned(p.out, 16);
  packs ? launch_embed<4>(p, stream) : launch_embed<1>(p, stream);
  return cudaGetLastError();
}

int64_t embedding_gradient_workspace(const EmbeddingShape& shape) {
  const int64_t groups = shares_of(shape).groups;
  return groups == 1 ? 0 : groups * shape.count * shape.channels;
}

cudaError_t embedding_gradient(const EmbeddingGradient& p, cudaStream_t stream) {
  const EmbeddingShape& s = p.shape;
  if (s.count < 1 || s.count > kMostEmbeddings || s.batch < 1 || s.batch > kMostExamples ||
      s.length < 1 || s.batch * s.length > kMostElements) {
    return cudaErrorInvalidValue;
  }
  const Shares shares = shares_of(s);
  const auto bytes = static_cast<int>(sizeof(float) * shares.words());
  const cudaError_t error = cudaFuncSetAttribute(
      embedding_gradient_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  const dim3 blocks(static_cast<unsigned>(shares.across), static_cast<unsigned>(shares.ranges),
                    static_cast<unsigned>(shares.groups));
  embedding_gradient_kernel<<<blocks, kChannels, bytes, stream>>>(p, shares);
  if (shares.groups > 1) {
    sum_parts({p.workspace, shares.groups, s.count * s.channels, p.table}, stream);
  }
  return cudaGetLastError();
}

}  // namespace perceiver
