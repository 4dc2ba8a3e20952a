#include "perceiver/http/policy.h"

#include <fmt/format.h>

namespace perceiver {
namespace {

bool may_ask(const HttpPolicy& policy, const HttpRequest& request) {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || policy.cors == "*" || origin == policy.cors) return true;
  const size_t scheme = origin.find("://");
  return scheme != origin.npos && origin.substr(scheme + 3) == request.header("host");
}

HttpResponse preflight(const std::string& allowed) {
  HttpResponse response{.status = 204, .headers = {{"Allow", allowed}}};
  response.headers.emplace_back("Access-Control-Allow-Methods", allowed);
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                "Authorization, Content-Type, X-Api-Key, Inference-Header-Content-"
                                "Length");
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace

std::optional<HttpResponse> answer_to_head(const HttpPolicy& policy, const HttpRequest& request,
                                           const Route* route, const std::string& allowed) {
  if (!may_ask(policy, request)) {
    return error_response(403, fmt::format("pages of {} may not ask this server; start it with "
                                           "--cors to let them",
                                           request.header("origin")));
  }
  if (route == nullptr && allowed.empty()) {
    return error_response(404, fmt::format("no such path: {}; see /docs", request.path));
  }
  if (route == nullptr && request.method == "OPTIONS") return preflight(allowed);
  if (route == nullptr) {
    HttpResponse response = error_response(405, fmt::format("{} is not for {}, which takes {}",
                                                            request.path, request.method, allowed));
    response.headers.emplace_back("Allow", allowed);
    return response;
  }
  if (!route->open && !policy.keys.admit(request)) {
    HttpResponse response = error_response(
        401, "a key is missing or wrong; send it as Authorization: Bearer KEY or X-Api-Key: KEY");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  const std::string encoding = lower_case(request.header("content-encoding"));
  if (!encoding.empty() && encoding != "identity") {
    return error_response(415, fmt::format("the body is packed ({}); send it as it is", encoding));
  }
  return {};
}

void add_cors(const HttpPolicy& policy, const HttpRequest& request, HttpResponse& response) {
  const std::string& origin = request.header("origin");
  if (policy.cors.empty() || origin.empty() || (policy.cors != "*" && policy.cors != origin))
    return;
  response.headers.emplace_back("Access-Control-Allow-Origin", policy.cors);
  response.headers.emplace_back("Access-Control-Expose-Headers",
                                "Inference-Header-Content-Length, Location, Retry-After");
  response.headers.emplace_back("Vary", "Origin");
}

}  // namespace perceiver
