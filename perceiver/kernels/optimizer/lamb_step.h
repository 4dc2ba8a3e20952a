// LAMB in one pass over memory. A tensor moves by its update times the ratio of two norms, which
// are known when all of its updates are: between the two, updates and values stay in the shared
// memory of the multiprocessors, where 3 million of them have room. For optimizer_step.cu only.
//
// Blocks, as many as run at once, take the items of all tensors in turn: block b those of number
// b, b + blocks, .... An item goes into the slot of the oldest, whose tensor is complete by then,
// or is waited for. That ends: of a tensor of at most blocks x slots items no block has more
// than slots, so when one waits for the tensor of its oldest item, it has put its own items of that
// tensor into slots and published their sums. Larger tensors are not kept, and a second kernel
// reads them again.
#pragma once

#include "perceiver/kernels/optimizer/step_rules.h"

namespace perceiver {

constexpr int kLambViews = 32;  // that a block remembers
constexpr int kLambMostSlots = kLambViews - kLambAhead - 3;
constexpr int kLambMeeting = kLambThreads + 32;  // threads that go item by item
constexpr int kLambAllThreads = kLambMeeting + 32;

// An item, as its block sees it.
struct LambView {
  float *value, *first, *second;
  const float* gradient;
  NarrowCopy narrow;
  int item, tensor, count;  // item -1: there is none
  bool decayed, kept, whole;
};

struct LambShared {
  LambView views[kLambViews];           // of item n at n % kLambViews
  float sums[2][3][kLambThreads / 32];  // of item n at n % 2, from each warp
  float rates[2];                       // for the item that n takes the slot of, likewise
  bool ready[2];                        // whether that is known, likewise
};

__device__ inline void meet() { asm volatile("bar.sync 1, %0;" ::"n"(kLambMeeting) : "memory"); }

// Sums and the step they belong to are one access: who sees the step sees the sums.
__device__ inline void publish_sums(FusedSums* to, const FusedSums& s) {
  asm volatile(
      "{ .reg .b64 lo, hi; .reg .b128 all; mov.b64 lo, {%1, %2}; mov.b64 hi, {%3, %4};"
      " mov.b128 all, {lo, hi}; st.relaxed.gpu.global.b128 [%0], all; }" ::"l"(to),
      "f"(s.gradients), "f"(s.values), "f"(s.updates), "r"(s.step)
      : "memory");
}
__device__ inline FusedSums look_at_sums(const FusedSums* from) {
  FusedSums s;
  asm volatile(
      "{ .reg .b64 lo, hi; .reg .b128 all; ld.relaxed.gpu.global.b128 all, [%4];"
      " mov.b128 {lo, hi}, all; mov.b64 {%0, %1}, lo; mov.b64 {%2, %3}, hi; }"
      : "=f"(s.gradients), "=f"(s.values), "=f"(s.updates), "=r"(s.step)
      : "l"(from)
      : "memory");
  return s;
}
__device__ inline void publish_ratio(FusedRatio* to, const FusedRatio& r) {
  asm volatile(
      "{ .reg .b64 all; mov.b64 all, {%1, %2}; st.relaxed.gpu.global.b64 [%0], all; }" ::"l"(to),
      "f"(r.ratio), "r"(r.step)
      : "memory");
}
__device__ inline FusedRatio look_at_ratio(const FusedRatio* from) {
  FusedRatio r;
  asm volatile("{ .reg .b64 all; ld.relaxed.gpu.global.b64 all, [%2]; mov.b64 {%0, %1}, all; }"
               : "=f"(r.ratio), "=r"(r.step)
               : "l"(from)
               : "memory");
  return r;
}

// Pointers out of a table or shared memory are generic to the compiler unless told.
template <typename T>
__device__ __forceinline__ T* global(T* pointer) {
  __builtin_assume(__isGlobal(pointer));
  return pointer;
}

__device__ inline double warp_sum(double x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// A warp that makes the ratios of every so many tensors from the sums of their items, always in the
// same order. A tensor of zeros, as biases start, moves by the plain update.
__device__ inline void make_ratios(const FusedTable& table, uint32_t step) {
  constexpr int kTogether = 8;
  const int lane = threadIdx.x % 32;
  for (int tensor = blockIdx.x; tensor < table.num_tensors; tensor += gridDim.x) {
    const int count = table.entries[tensor].num_items;
    const FusedSums* sums = table.sums + table.entries[tensor].first_item;
    // Nobody but the first lane asks until the tensor's turn has come.
    while (lane == 0 && count > 0 && look_at_sums(sums).step != step) __nanosleep(1000);
    __syncwarp();
    double gradients = 0, values = 0, updates = 0;
    for (int begin = lane; begin < count; begin += 32 * kTogether) {
      FusedSums s[kTogether];
      for (bool there = false; !there;) {
        there = true;
#pragma unroll
        for (int j = 0; j < kTogether; ++j) {
          const int i = begin + 32 * j;
          s[j] = i < count ? look_at_sums(sums + i) : FusedSums{0, 0, 0, step};
        }
#pragma unroll
        for (int j = 0; j < kTogether; ++j) there = there && s[j].step == step;
        if (!there) __nanosleep(100);
      }
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        gradients += s[j].gradients;
        values += s[j].values;
        updates += s[j].updates;
      }
    }
    __syncwarp();
    gradients = warp_sum(gradients);
    const float size = static_cast<float>(sqrt(warp_sum(values)));
    const float length = static_cast<float>(sqrt(warp_sum(updates)));
    if (lane != 0) continue;
    table.tensor_squares[tensor] = static_cast<float>(gradients);
    publish_ratio(table.ratios + tensor,
                  {.ratio = size == 0 || length == 0 ? 1.0f : size / length, .step = step});
  }
}

// A warp that looks after the others of its block: finds their items, publishes their sums and asks
// for the ratios of what they keep. Each is begun an item before it is needed.
class LambHelper {
 public:
  __device__ LambHelper(const FusedTable& table, uint32_t step, float learning_rate,
                        LambShared& shared)
      : table_(table), shared_(shared), step_(step), learning_rate_(learning_rate) {
    next_ = item(0);
  }

  __device__ void start() {
    for (int n = 0; n <= kLambAhead; ++n) look_up(n);
    if (threadIdx.x % 32 == 0) shared_.ready[0] = true;
  }

  __device__ void run() {
    int n = 0;
    for (bool published = true;; ++n) {
      if (!shared_.ready[n % 2]) {
        if (!published) publish(n - 1);
        wait_for_rate(n);
        published = true;
        meet();
      }
      if (shared_.views[n % kLambViews].item < 0) {
        if (!published) publish(n - 1);
        break;
      }
      if (!published) publish(n - 1);
      look_up(n + kLambAhead + 1);
      const bool ready = has_rate(n + 1);
      if (threadIdx.x % 32 == 0) shared_.ready[(n + 1) % 2] = ready;
      published = false;
      meet();
    }
    for (const int end = n + table_.lamb_slots; ++n < end;) {
      meet();
      wait_for_rate(n);
      meet();
    }
  }

 private:
  __device__ FusedChunk item(int n) const {
    const int number = blockIdx.x + n * gridDim.x;
    return number < table_.num_items ? table_.items[number] : FusedChunk{-1, 0};
  }

  __device__ void look_up(int n) {
    const FusedChunk chunk = next_;
    next_ = item(n + 1);
    LambView& view = shared_.views[n % kLambViews];
    if (chunk.tensor < 0) {
      if (threadIdx.x % 32 == 0) view.item = -1;
      return;
    }
    if (chunk.tensor != tensor_) {
      tensor_ = chunk.tensor;
      entry_ = table_.entries[tensor_];
      gradient_ = table_.gradients[tensor_];
    }
    const int64_t begin = int64_t{chunk.index} * kLambItem, left = entry_.count - begin;
    LambView v = {.value = entry_.value + begin,
                  .first = entry_.first + begin,
                  .second = entry_.second + begin,
                  .gradient = gradient_ + begin,
                  .narrow = NarrowCopy(entry_, begin),
                  .item = static_cast<int>(blockIdx.x + n * gridDim.x),
                  .tensor = tensor_,
                  .count = static_cast<int>(left < kLambItem ? left : kLambItem),
                  .decayed = entry_.decayed,
                  .kept = entry_.kept};
    const auto bits = reinterpret_cast<uintptr_t>(v.value) | reinterpret_cast<uintptr_t>(v.first) |
                      reinterpret_cast<uintptr_t>(v.second) |
                      reinterpret_cast<uintptr_t>(v.gradient);
    v.whole = v.count == kLambItem && bits % 16 == 0;
    if (threadIdx.x % 32 == 0) view = v;
  }

  __device__ void publish(int n) {
    const int lane = threadIdx.x % 32;
    const auto sum = [&](int which) {
      return warp_sum(lane < kLambThreads / 32 ? shared_.sums[n % 2][which][lane] : 0.0f);
    };
    const FusedSums s = {sum(0), sum(1), sum(2), step_};
    if (lane == 0) publish_sums(table_.sums + shared_.views[n % kLambViews].item, s);
  }

  // Of the item whose slot item n takes.
  __device__ bool has_rate(int n) {
    if (n < table_.lamb_slots) return true;
    const LambView& old = shared_.views[(n - table_.lamb_slots) % kLambViews];
    if (!old.kept) return true;
    if (old.tensor != rated_) {
      const FusedRatio now = look_at_ratio(table_.ratios + old.tensor);
      if (now.step != step_) return false;
      rated_ = old.tensor;
      rate_ = now.ratio * -learning_rate_;
    }
    if (threadIdx.x % 32 == 0) shared_.rates[n % 2] = rate_;
    return true;
  }
  __device__ void wait_for_rate(int n) {
    while (!has_rate(n)) __nanosleep(20);
    __syncwarp();
  }

  const FusedTable& table_;
  LambShared& shared_;
  uint32_t step_;
  float learning_rate_;
  FusedChunk next_;
  int tensor_ = -1, rated_ = -1;  // whose entry_ and whose rate_
  FusedEntry entry_;
  const float* gradient_ = nullptr;
  float rate_ = 0;
};

// What a thread has of an item: packs kLambThreads apart, the same elements of every item, so that
// slots need no barrier.
class LambWorker {
 public:
  __device__ LambWorker(const FusedTable& table, const Rule& rule, float factor, float* slots,
                        LambShared& shared)
      : rule_(rule),
        direction_(rule, *table.rates),
        factor_(factor),
        num_slots_(table.lamb_slots),
        slots_(slots),
        shared_(shared) {}

  __device__ void run() {
    Loaded ring[kLambAhead + 1];
#pragma unroll
    for (int j = 0; j < kLambAhead; ++j) load(j, ring[j]);
    int n = 0;
    for (bool more = true; more;) {
#pragma unroll
      for (int j = 0; j <= kLambAhead; ++j) {
        if (!shared_.ready[n % 2]) meet();  // the helper waits for a ratio
        if (shared_.views[n % kLambViews].item < 0) {
          more = false;
          break;
        }
        load(n + kLambAhead, ring[(j + kLambAhead) % (kLambAhead + 1)]);
        if (n >= num_slots_) apply(n);
        move(n, ring[j]);
        meet();
        next_slot(n);
      }
    }
    for (const int end = n + num_slots_; n < end; next_slot(n)) {
      if (n >= num_slots_) apply(n);
      if (n + 1 < end) meet(), meet();  // the second one when the helper has the next rate
    }
  }

 private:
  struct Loaded {
    float w[kLambPacks][4], g[kLambPacks][4], m[kLambPacks][4], v[kLambPacks][4];
  };

  __device__ static int element(int pack) { return (pack * kLambThreads + threadIdx.x) * 4; }
  __device__ void next_slot(int& n) {
    ++n;
    slot_ = slot_ + 1 == num_slots_ ? 0 : slot_ + 1;
  }
  __device__ float* updates() const { return slots_ + slot_ * 2 * kLambItem; }
  __device__ float* values() const { return updates() + kLambItem; }

  __device__ void load(int n, Loaded& x) const {
    const LambView& c = shared_.views[n % kLambViews];
    if (c.item < 0 || !c.whole) return;
    const float *value = global(c.value), *gradient = global(c.gradient);
    const float *first = global(c.first), *second = global(c.second);
#pragma unroll
    for (int k = 0; k < kLambPacks; ++k) {
      load_pack(value + element(k), x.w[k]);
      load_pack(gradient + element(k), x.g[k]);
      load_pack(first + element(k), x.m[k]);
      load_pack(second + element(k), x.v[k]);
    }
  }

  // f(pack, element) for all that this thread has of an item, one by one.
  template <typename Function>
  __device__ static void one_by_one(const LambView& c, Function f) {
    for (int k = 0; k < kLambPacks; ++k) {
      for (int i = element(k); i < c.count && i < element(k) + 4; ++i) f(i);
    }
  }

  // Into the slot; the moments into memory.
  __device__ void move(int n, Loaded& x) {
    const LambView& c = shared_.views[n % kLambViews];
    float *const first = global(c.first), *const second = global(c.second);
    const float decay = c.decayed ? rule_.weight_decay : 0.0f;
    float squares[3] = {};
    const auto update = [&](float w, float g, float& m, float& v) {
      squares[0] += g * g;
      move_moments(rule_, g * factor_, m, v);
      const float u = __fmaf_rn(decay, w, direction_.of(m, v));
      squares[1] += w * w;
      squares[2] += u * u;
      return u;
    };
    if (c.whole) {
#pragma unroll
      for (int k = 0; k < kLambPacks; ++k) {
        float u[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) u[j] = update(x.w[k][j], x.g[k][j], x.m[k][j], x.v[k][j]);
        store_pack(updates() + element(k), u);
        store_pack(values() + element(k), x.w[k]);
        store_pack(first + element(k), x.m[k]);
        store_pack(second + element(k), x.v[k]);
      }
    } else {
      one_by_one(c, [&](int i) {
        values()[i] = c.value[i];
        updates()[i] = update(c.value[i], c.gradient[i], first[i], second[i]);
      });
    }
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const float sum = warp_sum(squares[j]);
      if (threadIdx.x % 32 == 0) shared_.sums[n % 2][j][threadIdx.x / 32] = sum;
    }
  }

  // Of the item that is in the slot where item n goes.
  __device__ void apply(int n) const {
    const LambView& c = shared_.views[(n - num_slots_) % kLambViews];
    if (!c.kept) return;
    const float rate = shared_.rates[n % 2];
    float* const value = global(c.value);
    const NarrowCopy narrow = c.narrow;
    if (c.whole) {
#pragma unroll
      for (int k = 0; k < kLambPacks; ++k) {
        float u[4], w[4];
        load_pack(updates() + element(k), u);
        load_pack(values() + element(k), w);
#pragma unroll
        for (int j = 0; j < 4; ++j) w[j] = __fmaf_rn(rate, u[j], w[j]);
        store_pack(value + element(k), w);
        narrow.put(element(k), w);
      }
    } else {
      one_by_one(c, [&](int i) {
        const float w[1] = {__fmaf_rn(rate, updates()[i], values()[i])};
        value[i] = w[0];
        narrow.put(i, w);
      });
    }
  }

  const Rule& rule_;
  AdamDirection direction_;
  float factor_;
  int num_slots_, slot_ = 0;
  float* slots_;
  LambShared& shared_;
};

__global__ void __launch_bounds__(kLambAllThreads, kLambBlocks)
    lamb_kernel(FusedTable table, Rule rule, Divisor divisor) {
  extern __shared__ float4 slots[];  // [lamb_slots, 2, kLambItem]: updates and values
  __shared__ LambShared shared;
  // Steps that find their factor made and those that do not are told apart: clip_kernel counts, and
  // comes before the ones and after the others.
  const uint32_t step = *table.step * 2 + rule.clips;
  const int warp = threadIdx.x / 32;
  if (warp == kLambMeeting / 32) return make_ratios(table, step);
  if (warp == kLambThreads / 32) {
    LambHelper helper(table, step, table.rates->learning_rate, shared);
    helper.start();
    meet();
    return helper.run();
  }
  const float factor = rule.clips ? *table.gradient_factor : 1.0f / divisor.get();
  meet();
  LambWorker(table, rule, factor, reinterpret_cast<float*>(slots), shared).run();
}

}  // namespace perceiver
