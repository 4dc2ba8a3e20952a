// Requests and responses as handlers see them. Nothing here knows of models, nor of the library
// that reads them from the wire.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace perceiver {

// In the order they came; names in lower case.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = {}, path = {};             // the path decoded, without the query
  std::map<std::string, std::string> query = {};  // "?top=3&model=x", decoded; the last of a name
  Headers headers = {};
  std::string body = {};
  std::string client = {};                        // its address
  std::map<std::string, std::string> parts = {};  // "{id}" of the route's pattern
  std::shared_ptr<void> ticket = {};              // what admitted it; held until it is answered

  // The first of that name, in lower case; "" where there is none.
  const std::string& header(std::string_view name) const;

  // The media type alone, in lower case: "multipart/form-data".
  std::string content_type() const;
};

// What a stream of events gives when it is asked: an event to send, nothing yet, or its end.
struct EventPoll {
  std::string event = {};  // as it goes over the wire; empty: nothing yet
  bool ended = false;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};

  // Server-sent events in the place of a body: asked several times a second, on the server's
  // thread, until they end or the client goes.
  std::function<EventPoll()> events = {};
};

// {"error": message}
HttpResponse error_response(int status, std::string_view message);

// A server-sent event; `data` has no line break.
std::string event_text(std::string_view name, std::string_view data);

// The path and the query of a request's target; nothing where it is none that a server has: not
// beginning with '/', broken escapes, or a zero byte.
struct Target {
  std::string path;
  std::map<std::string, std::string> query;
};
std::optional<Target> parse_target(std::string_view target);

// The value of a parameter of a header such as `form-data; name="file"; filename="a b.png"`;
// nothing where it has none.
std::optional<std::string> header_parameter(std::string_view header, std::string_view name);

std::string lower_case(std::string_view text);
std::string_view trimmed(std::string_view text);  // without spaces and tabs at both ends

}  // namespace perceiver
