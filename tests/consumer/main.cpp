#include <ATen/ops/zeros.h>

#include <iostream>

#include "perceiver/core/error.h"
#include "perceiver/core/tensor.h"

int main() {
  const perceiver::Tensor latents = at::zeros({1, 256, 1280});
  perceiver::check_shape(latents, {perceiver::kAny, 256, 1280}, "latents");
  try {
    perceiver::check_shape(latents, {perceiver::kAny, 512, 1024}, "latents");
  } catch (const perceiver::Error& e) {
    std::cout << e.what() << "\n";
    return 0;
  }
  std::cerr << "check_shape took a wrong shape\n";
  return 1;
}
