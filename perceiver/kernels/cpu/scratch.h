// Memory for a call's working set: each thread takes it once and uses it again in later calls.
#pragma once

#include <cstdint>

namespace perceiver {

// Takes pieces of the thread's memory, on cache lines, not set to anything; they are free again
// when the frame ends. Frames nest.
class ScratchFrame {
 public:
  ScratchFrame();
  ~ScratchFrame();
  ScratchFrame(const ScratchFrame&) = delete;

  template <typename T>
  T* take(int64_t count) {
    return static_cast<T*>(take_bytes(count * static_cast<int64_t>(sizeof(T))));
  }

 private:
  void* take_bytes(int64_t bytes);

  int64_t mark_;
};

}  // namespace perceiver
