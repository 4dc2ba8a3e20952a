// Ranks as threads of one process, for tests.
#pragma once

#include <ATen/Parallel.h>

#include <exception>
#include <functional>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "perceiver/ranks/ranks.h"

namespace perceiver {

// Calls `work` as each of `size` ranks at once, which compute on one thread each; throws what the
// first of them that fails throws.
inline void as_ranks(int64_t size, const std::function<void(Ranks& ranks)>& work,
                     RanksOptions options = {}) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::exception_ptr> errors(size);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      try {
        Ranks ranks(store, {.rank = rank, .size = size, .local_rank = rank, .local_size = size},
                    options);
        work(ranks);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace perceiver
