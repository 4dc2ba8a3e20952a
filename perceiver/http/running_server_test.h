// A server on a thread of its own, for as long as a test lives.
#pragma once

#include <thread>

#include "perceiver/core/error_test.h"
#include "perceiver/http/server.h"

namespace perceiver {

class RunningServer {
 public:
  RunningServer(HttpOptions options, Router router, HttpHooks hooks = {})
      : server_(std::move(options), std::make_shared<const Router>(std::move(router)),
                std::move(hooks)),
        thread_([this] { server_.run(); }) {}
  ~RunningServer() {
    server_.stop();
    thread_.join();
  }

  uint16_t port() const { return server_.port(); }
  int64_t connections() const { return server_.connections(); }
  void stop() { server_.stop(); }

 private:
  HttpServer server_;
  std::thread thread_;
};

}  // namespace perceiver
