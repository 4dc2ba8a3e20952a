// Any bytes as a zip: an answer or an Error, never anything else.
#include "perceiver/core/error.h"
#include "perceiver/weights/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    const perceiver::Zip zip(perceiver::own_bytes({"x", bytes}));
    for (const auto& [name, entry] : zip.entries()) zip.read(name);
  } catch (const perceiver::Error&) {
  }
  return 0;
}
