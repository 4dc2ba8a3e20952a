// An HTTP/1.1 server: connections, limits, keys and TLS. What requests mean is the router's.
//
// One thread runs it and must never wait: whatever takes time hands the reply to another thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "perceiver/http/api_keys.h"
#include "perceiver/http/router.h"

namespace perceiver {

struct HttpLimits {
  int64_t connections = 1024;              // beyond them the one that was idle longest makes room
  int64_t body_memory = int64_t{1} << 30;  // bytes of all bodies that are being read or answered
  double head_seconds = 10.0;              // for a request line and its headers
  double idle_seconds = 60.0;              // between two requests of a connection
  double body_seconds = 60.0;              // for a body to come, and for an answer to be taken
};

// What was answered, for logs and counters.
struct Exchange {
  std::string method = {}, path = {}, route = {},
              client = {};  // the pattern that answered; empty: none did
  int status = 0;
  double seconds = 0.0;  // from the request line to the end of the answer
  int64_t bytes_in = 0, bytes_out = 0;
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;  // 0: any that is free
  HttpLimits limits = {};
  ApiKeys keys = {};
  std::filesystem::path certificate = {}, private_key = {};  // PEM; empty: no TLS
  std::string cors = {};  // the origin whose pages may ask; "*": any; empty: those of this server
};

struct HttpHooks {
  // Before the body is read: a refusal, or nothing, with the request's ticket set where it counts.
  std::function<std::optional<HttpResponse>(const Route& route, HttpRequest& request)> admit = {};
  std::function<void(const Exchange& exchange)> done = {};
};

class HttpServer {
 public:
  // Opens the port; fails where it cannot, or TLS's files are none.
  HttpServer(HttpOptions options, std::shared_ptr<const Router> router, HttpHooks hooks = {});
  ~HttpServer();

  uint16_t port() const;
  std::string url() const;

  void run();  // until it was stopped and the last answer is on its way

  // From any thread: no new connection, no further request; what was accepted is answered.
  void stop();

  int64_t connections() const;  // from any thread

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace perceiver
