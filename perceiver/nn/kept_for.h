// What was computed of some tensors, kept until they are others or have changed.
#pragma once

#include <optional>
#include <vector>

#include "perceiver/core/tensor.h"

namespace perceiver {

// Tensors, and their values as last seen. LibTorch does not tell of changes to tensors of its
// inference mode: they count as unchanged.
class SeenTensors {
 public:
  // Whether these are not the last ones, unchanged; from now on they are.
  bool are_new(const std::vector<Tensor>& tensors) {
    std::vector<Seen> now;
    for (const Tensor& t : tensors) {
      const int64_t version = t.is_inference() ? 0 : static_cast<int64_t>(t._version());
      now.push_back({t, t.const_data_ptr(), version});
    }
    const bool same = any_ && now == seen_;
    seen_ = std::move(now), any_ = true;
    return !same;
  }

 private:
  struct Seen {
    Tensor tensor;  // so that its memory is not given to another
    const void* data;
    int64_t version;
    bool operator==(const Seen& s) const {
      return tensor.is_same(s.tensor) && data == s.data && version == s.version;
    }
  };
  std::vector<Seen> seen_;
  bool any_ = false;
};

template <typename T>
class KeptFor {
 public:
  // Where a value made of these tensors belongs: empty if that has to be made first.
  std::optional<T>& slot(const std::vector<Tensor>& tensors) {
    if (seen_.are_new(tensors)) value_.reset();
    return value_;
  }

 private:
  SeenTensors seen_;
  std::optional<T> value_;
};

}  // namespace perceiver
