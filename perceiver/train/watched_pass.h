// A look at the outside from within a pass: one on a CPU may take minutes.
#pragma once

#include <functional>

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {

// What it throws, a std::exception, ends the pass.
using Look = std::function<void()>;

// While it lives, looks before each attention of this thread.
class WatchedForward {
 public:
  explicit WatchedForward(Look look)
      : counter_([look = std::move(look)](const AttentionCase&, std::string_view) { look(); }) {}

 private:
  AttentionCounter counter_;
};

// Looks before each operation when backward() is called on this tensor.
void watch_backward(const Tensor& root, const Look& look);

}  // namespace perceiver
