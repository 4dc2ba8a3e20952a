#include "perceiver/http/wire.h"

#include <fmt/format.h>

#include <boost/beast/core/error.hpp>

namespace perceiver {

namespace http = boost::beast::http;

std::optional<HttpRequest> head_of(const WireParser& parser) {
  const auto& message = parser.get();
  std::optional<Target> target =
      parse_target(std::string_view(message.target().data(), message.target().size()));
  if (!target) return {};
  HttpRequest request{.method = std::string(message.method_string()),
                      .path = std::move(target->path),
                      .query = std::move(target->query)};
  for (const auto& field : message) {
    request.headers.emplace_back(
        lower_case(std::string_view(field.name_string().data(), field.name_string().size())),
        std::string(field.value()));
  }
  return request;
}

std::optional<HttpResponse> refusal_of(boost::beast::error_code error) {
  if (error == http::error::header_limit) {
    return error_response(431,
                          fmt::format("the headers are longer than {} bytes", kMostHeaderBytes));
  }
  if (error == http::error::body_limit) return error_response(413, "the body is too large");
  if (error == http::error::end_of_stream || error == http::error::partial_message) return {};
  if (error.category() == http::make_error_code(http::error::bad_method).category()) {
    return error_response(400, "this is no HTTP request: " + error.message());
  }
  return {};
}

}  // namespace perceiver
