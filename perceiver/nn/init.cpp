#include "perceiver/nn/init.h"

#include <torch/types.h>

#include <cmath>

#include "perceiver/core/error.h"

namespace perceiver {

bool constructs_without_memory() { return current_run().construct == Construct::kWithoutMemory; }

// LibTorch asserts that a size in bytes can be counted, even where it allocates nothing.
static void check_countable(at::IntArrayRef sizes) {
  int64_t bytes = sizeof(float);
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      fail("{} is the size of no parameter: no memory is that large; make the model smaller",
           to_string(sizes));
    }
  }
}

Tensor new_parameter(at::IntArrayRef sizes, Init init) {
  check_countable(sizes);
  if (constructs_without_memory()) return torch::empty(sizes, torch::kMeta);
  Tensor values = torch::empty(sizes);
  if (current_run().construct == Construct::kEmpty) return values;
  switch (init.kind) {
    case Init::Kind::kZeros:
      return values.zero_();
    case Init::Kind::kOnes:
      return values.fill_(1);
    case Init::Kind::kTruncatedNormal:
      break;
  }
  const double cut = std::erf(2.0 / std::sqrt(2.0));  // P(|x| < 2) of a standard normal
  return values.uniform_(-cut, cut).erfinv_().mul_(init.stddev * std::sqrt(2.0));
}

}  // namespace perceiver
