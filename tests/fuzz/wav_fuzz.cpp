// Any bytes as a WAV: an answer or an Error, never anything else.
#include "perceiver/core/error.h"
#include "perceiver/media/wav.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!perceiver::is_wav(bytes)) return 0;
  try {
    perceiver::decode_wav({"x", bytes});
  } catch (const perceiver::Error&) {
  }
  return 0;
}
