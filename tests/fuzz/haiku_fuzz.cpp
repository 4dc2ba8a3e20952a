// Any bytes as one of DeepMind's checkpoints: an answer or an Error, never anything else.
#include <ATen/ops/sum.h>

#include "perceiver/core/error.h"
#include "perceiver/weights/haiku.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    const auto checkpoint = perceiver::decode_haiku({"x", bytes});
    for (const auto* modules : {&checkpoint.params, &checkpoint.state}) {
      for (const auto& [path, tensors] : *modules) {
        for (const auto& [name, tensor] : tensors) tensor.sum();
      }
    }
  } catch (const perceiver::Error&) {
  }
  return 0;
}
