// Counts the products and convolutions a forward pass calls (paper, App. D): the independent
// witness of what the modules say of themselves.
#pragma once

#include <cstdint>
#include <functional>

namespace perceiver {

// Two for each multiply-accumulate of the matrix products and convolutions that `run` calls on
// this thread when it is called a second time: what the first call makes once (queries that do not
// depend on the input, packed weights) is no part of a pass. Attention must go through the
// reference kernel: others do not call ATen's products.
int64_t recorded_flops(const std::function<void()>& run);

}  // namespace perceiver
