#pragma once

#include <ATen/Parallel.h>

namespace perceiver {

// While it lives, work is cut for so many threads.
class ThreadsScope {
 public:
  explicit ThreadsScope(int threads) { at::set_num_threads(threads); }
  ~ThreadsScope() { at::set_num_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;

 private:
  int before_ = at::get_num_threads();
};

}  // namespace perceiver
