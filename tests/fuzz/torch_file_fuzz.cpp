// Any bytes as a torch file: an answer or an Error, never anything else.
#include <ATen/ops/sum.h>

#include "perceiver/core/error.h"
#include "perceiver/weights/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& [name, tensor] : perceiver::decode_torch_file({"x", bytes})) tensor.sum();
  } catch (const perceiver::Error&) {
  }
  return 0;
}
