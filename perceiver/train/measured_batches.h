// What an evaluation measured, so that another program can be asked the same.
#pragma once

#include <filesystem>

#include "perceiver/data/dataset.h"
#include "perceiver/weights/tensor_map.h"

namespace perceiver {

// The arrays of each batch as the model gets them ("3.ids"), and the evaluator's state
// ("3.measure.loss", of a sum with its weight).
class MeasuredBatches {
 public:
  void add(const Example& batch, const TensorMap& state);
  void write(const std::filesystem::path& path) const;  // as safetensors

 private:
  NamedTensors arrays_;
  int64_t count_ = 0;
};

}  // namespace perceiver
