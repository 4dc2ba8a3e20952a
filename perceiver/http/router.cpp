#include "perceiver/http/router.h"

#include <atomic>
#include <optional>

namespace perceiver {
namespace {

using Parts = std::map<std::string, std::string>;

// The next part of a path, without its slash.
std::string_view take_part(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(part.size());
  return part;
}

// A name with slashes in it, as clients escape it: "deepmind%2Flanguage-perceiver".
std::string with_slashes(std::string_view part) {
  std::string name;
  while (!part.empty()) {
    const bool is_slash = part.starts_with("%2F");
    name.push_back(is_slash ? '/' : part.front());
    part.remove_prefix(is_slash ? 3 : 1);
  }
  return name;
}

std::optional<Parts> match(std::string_view pattern, std::string_view path) {
  Parts parts;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = take_part(pattern), got = take_part(path);
    if (wanted.starts_with('{')) {
      if (got.empty()) return {};
      parts[std::string(wanted.substr(1, wanted.size() - 2))] = with_slashes(got);
    } else if (wanted != got) {
      return {};
    }
  }
  if (!pattern.empty() || !path.empty()) return {};
  return parts;
}

}  // namespace

struct Reply::Once {
  Send send;
  std::atomic<bool> sent = false;

  void answer(HttpResponse response) {
    if (!sent.exchange(true)) send(std::move(response));
  }
  ~Once() { answer(error_response(500, "the request was dropped; this is a bug in perceiver")); }
};

Reply::Reply(Send send) : once_(std::make_shared<Once>()) { once_->send = std::move(send); }

void Reply::operator()(HttpResponse response) const { once_->answer(std::move(response)); }

void Router::add(Route route) { routes_.push_back(std::move(route)); }

const Route* Router::find(HttpRequest& request, std::string& allowed) const {
  // A HEAD is a GET whose body is not sent.
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  for (const Route& route : routes_) {
    std::optional<Parts> parts = match(route.pattern, request.path);
    if (!parts) continue;
    if (route.method == method) {
      request.parts = std::move(*parts);
      return &route;
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  return nullptr;
}

}  // namespace perceiver
