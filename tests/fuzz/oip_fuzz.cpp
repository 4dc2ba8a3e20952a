// Any bytes as a request of the Open Inference Protocol: a first line as the header that says how
// long the JSON is, then the body. What is read is answered with itself, in both forms.
#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/serve/oip.h"

namespace perceiver {
namespace {

void read_and_answer(std::string_view bytes) {
  const size_t line = std::min(bytes.find('\n'), bytes.size());
  HttpRequest request{.method = "POST"};
  if (line > 0) {
    request.headers.emplace_back("inference-header-content-length", bytes.substr(0, line));
  }
  request.body = bytes.substr(std::min(line + 1, bytes.size()));
  OipRequest parsed = parse_oip(request);
  for (const bool binary : {true, false}) {
    parsed.outputs.clear();
    parsed.binary_output = binary;
    oip_response(parsed, "model", parsed.inputs);
  }
}

}  // namespace
}  // namespace perceiver

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    perceiver::read_and_answer({reinterpret_cast<const char*>(data), size});
  } catch (const perceiver::Error&) {
  }
  return 0;
}
