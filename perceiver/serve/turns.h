// Who computes on a device: one thread at a time, and long work lets short work pass.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace perceiver {

class Turns {
 public:
  void take() {
    std::unique_lock lock(mutex_);
    ++wanting_;
    freed_.wait(lock, [this] { return !taken_; });
    --wanting_;
    taken_ = true;
    ++count_;
  }

  void give() {
    {
      const std::lock_guard lock(mutex_);
      taken_ = false;
    }
    freed_.notify_all();
  }

  // By who has the turn: one of those who want it has it in between.
  void let_pass() {
    std::unique_lock lock(mutex_);
    if (wanting_ == 0) return;
    const int64_t before = count_;
    taken_ = false;
    freed_.notify_all();
    freed_.wait(lock, [&] { return !taken_ && count_ != before; });
    taken_ = true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;
  int64_t wanting_ = 0, count_ = 0;
};

class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) { turns_.take(); }
  ~Turn() { turns_.give(); }
  Turn(const Turn&) = delete;

 private:
  Turns& turns_;
};

}  // namespace perceiver
