#include "perceiver/kernels/cpu/work_stealing.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <memory>

namespace perceiver {
namespace {

struct alignas(64) Stretch {
  std::atomic<int64_t> next;
  int64_t end;
};

}  // namespace

void share_out(int64_t count, c10::function_ref<void(int64_t)> part) {
  const int64_t threads = std::min<int64_t>(at::get_num_threads(), count);
  const auto stretches = std::make_unique<Stretch[]>(threads);
  for (int64_t i = 0; i < threads; ++i) {
    stretches[i].next = count * i / threads;
    stretches[i].end = count * (i + 1) / threads;
  }
  at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t own = begin; own < end; ++own) {
      for (int64_t i = 0; i < threads; ++i) {
        Stretch& stretch = stretches[(own + i) % threads];
        for (int64_t at = stretch.next++; at < stretch.end; at = stretch.next++) part(at);
      }
    }
  });
}

}  // namespace perceiver
