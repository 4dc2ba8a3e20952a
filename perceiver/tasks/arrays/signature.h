// The arrays that a model takes and gives when it is run, for those who connect other programs.
#pragma once

#include "perceiver/tasks/arrays/config.h"

namespace perceiver {

struct NamedArray {
  std::string name;
  std::vector<int64_t> shape;  // with the axis of the examples; kAny: any number
  bool whole;                  // numbers of categories; else real numbers
};

struct ArraysSignature {
  std::vector<NamedArray> inputs, outputs;
};

// As run_arrays() has them.
ArraysSignature signature_of(const ArraysConfig& config);

}  // namespace perceiver
