// Any bytes as a request: parsed with the server's limits, routed, and taken apart as a form where
// it says it is one. An answer or an Error, never anything else.
#include "perceiver/core/error.h"
#include "perceiver/http/multipart.h"
#include "perceiver/http/policy.h"
#include "perceiver/http/wire.h"

namespace perceiver {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;

Router some_routes() {
  Router router;
  router.add({.method = "GET", .pattern = "/health", .open = true});
  router.add({.method = "POST", .pattern = "/latents/{id}/query"});
  return router;
}

void read_request(std::string_view bytes) {
  WireParser parser;
  parser.header_limit(kMostHeaderBytes);
  parser.body_limit(kMostBytes);
  boost::beast::error_code error;
  while (!bytes.empty() && !error && !parser.is_done()) {
    const size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    if (used == 0) break;
    bytes.remove_prefix(used);
  }
  refusal_of(error);
  if (!parser.is_header_done()) return;
  std::optional<HttpRequest> request = head_of(parser);
  if (!request) return;
  static const Router router = some_routes();
  static const HttpPolicy policy{.keys = ApiKeys({"keys", "key"}), .cors = "http://a"};
  std::string allowed;
  const Route* route = router.find(*request, allowed);
  HttpResponse response;
  answer_to_head(policy, *request, route, allowed);
  add_cors(policy, *request, response);
  if (request->content_type() != "multipart/form-data") return;
  parse_multipart(parser.get().body(), request->header("content-type"));
}

}  // namespace
}  // namespace perceiver

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    perceiver::read_request({reinterpret_cast<const char*>(data), size});
  } catch (const perceiver::Error&) {
  }
  return 0;
}
