// Any bytes as a flow: an answer or an Error, never anything else.
#include "perceiver/core/error.h"
#include "perceiver/media/flow.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    perceiver::decode_flow({"x", bytes});
  } catch (const perceiver::Error&) {
  }
  return 0;
}
