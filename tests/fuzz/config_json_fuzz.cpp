// Any bytes as a config.json: settings that can be read, or an Error, never anything else.
#include "perceiver/core/error.h"
#include "perceiver/zoo/hugging_face.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const perceiver::File json{"x", std::string(reinterpret_cast<const char*>(data), size)};
  try {
    perceiver::origin_of_config_json(json);
    const perceiver::File settings{"x", perceiver::settings_of_config_json(json)};
    perceiver::with_settings(settings, {}, [](const auto&) { return 0; });
  } catch (const perceiver::Error&) {
  }
  return 0;
}
