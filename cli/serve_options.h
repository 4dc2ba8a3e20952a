// The options of `serve`, and the server that they describe.
#pragma once

#include "cli/session.h"
#include "perceiver/serve/parts.h"

namespace perceiver {

struct ServeArgs {
  SessionOptions session;
  std::vector<std::string> models;
  std::string host = "127.0.0.1", api_key_file, tls_cert, tls_key, cors;
  int64_t port = 8080, queue = 64, batch = 16, connections = 1024;
  int64_t body_mib = 64, memory_mib = 1024, latents_mib = 1024;
  int64_t pixels = int64_t{1} << 24;
  double media_seconds = 60.0, latents_minutes = 10.0, patience = 60.0;
};

void add_serve_options(CLI::App& command, ServeArgs& args);

ServeOptions serve_options(const ServeArgs& args);

}  // namespace perceiver
