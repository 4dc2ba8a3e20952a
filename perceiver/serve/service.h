// A server for models: what `perceiver serve` runs, for any program.
#pragma once

#include <memory>

#include "perceiver/serve/parts.h"

namespace perceiver {

class Service {
 public:
  // Opens the port and begins to load the models. Fails where either is not there.
  explicit Service(ServeOptions options);
  ~Service();

  uint16_t port() const;
  std::string url() const;

  // Until it was stopped, or a model could not be loaded: then it fails with the reason. It serves
  // on the calling thread.
  void run();

  // From any thread: nothing new is taken, what was is answered; jobs are cancelled.
  void stop();

 private:
  std::unique_ptr<ServerParts> parts_;
  HttpServer* listening_ = nullptr;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace perceiver
