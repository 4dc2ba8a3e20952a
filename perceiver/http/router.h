// Which handler answers which request.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "perceiver/http/message.h"

namespace perceiver {

// Answers a request, once, from any thread. Where it goes without an answer, the client gets a 500.
class Reply {
 public:
  using Send = std::function<void(HttpResponse)>;
  explicit Reply(Send send);
  void operator()(HttpResponse response) const;  // what comes after the first goes nowhere

 private:
  struct Once;
  std::shared_ptr<Once> once_;
};

struct Route {
  std::string method, pattern;  // "/latents/{id}/query": {id} is one part of a path
  // On the server's thread: what takes time hands request and reply on to another.
  std::function<void(HttpRequest request, const Reply& reply)> handle = {};
  bool open = false;             // answered without a key
  bool works = false;            // a model computes: counts against the queue
  int64_t most_bytes = 1 << 16;  // of its body
};

class Router {
 public:
  void add(Route route);
  const std::vector<Route>& routes() const { return routes_; }

  // The route, with the parts of the pattern put into the request. Null: none; then `allowed` has
  // the methods that the path does have.
  const Route* find(HttpRequest& request, std::string& allowed) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace perceiver
