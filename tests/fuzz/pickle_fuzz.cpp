// Any bytes as a pickle, with storages for the torch tensors in it: an answer or an Error, never
// anything else.
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "perceiver/core/error.h"
#include "perceiver/weights/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    perceiver::PickleHeap heap(
        perceiver::own_bytes({"x", bytes}),
        [](const perceiver::StorageId& id) { return at::zeros({id.num_elements & 63}, id.dtype); });
    const perceiver::PickleValue* root = perceiver::run_pickle(heap);
    if (const auto* tensor = std::get_if<perceiver::PickleTensor>(&root->data)) {
      if (tensor->tensor.defined()) tensor->tensor.sum();
    }
  } catch (const perceiver::Error&) {
  }
  return 0;
}
