#include "perceiver/nn/init.h"

#include <torch/types.h>

#include <cmath>
#include <utility>

namespace perceiver {

static thread_local Construct current = Construct::kInitialised;

ConstructScope::ConstructScope(Construct construct) : before_(std::exchange(current, construct)) {}
ConstructScope::~ConstructScope() { current = before_; }

bool constructs_without_memory() { return current == Construct::kWithoutMemory; }

Tensor new_parameter(at::IntArrayRef sizes, Init init) {
  if (current == Construct::kWithoutMemory) return torch::empty(sizes, torch::kMeta);
  Tensor values = torch::empty(sizes);
  if (current == Construct::kEmpty) return values;
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
