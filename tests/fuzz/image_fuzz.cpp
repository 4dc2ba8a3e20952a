// Any bytes as a picture: an answer or an Error, never anything else.
#include "perceiver/core/error.h"
#include "perceiver/media/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    perceiver::decode_image_with_alpha({"x", bytes});
  } catch (const perceiver::Error&) {
  }
  return 0;
}
