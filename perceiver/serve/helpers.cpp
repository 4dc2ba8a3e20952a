#include "perceiver/serve/helpers.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <omp.h>

#include <algorithm>

namespace perceiver {

Helpers::Helpers(int64_t most) : most_(std::max<int64_t>(1, most)) {}

Helpers::~Helpers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wakes_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Helpers::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    if (idle_ < std::ssize(waiting_) && std::ssize(threads_) < most_) {
      threads_.emplace_back([this] { help(); });
    }
  }
  wakes_.notify_one();
}

void Helpers::help() {
  const at::NoGradGuard no_gradients;
  // Many at a time read small things: more threads for each would only get into each other's way.
  // The model's thread keeps its own.
  at::get_num_threads();
  omp_set_num_threads(1);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wakes_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace perceiver
