// The connections of a server, and what they share. All of it lives on the server's thread.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <list>
#include <utility>  // Boost 1.74 forgets it

#include "perceiver/http/policy.h"
#include "perceiver/http/server.h"

namespace perceiver {

// A connection as its server knows it.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void close() = 0;  // at once: what it waits for ends with an error
};

struct ServerState {
  HttpOptions options;
  HttpPolicy policy;
  std::shared_ptr<const Router> router;
  HttpHooks hooks;

  boost::asio::io_context io{1};
  std::list<Connection*> waiting = {};  // for a request; the longest first
  std::atomic<int64_t> connections = 0;
  int64_t body_bytes = 0;  // of bodies that are being read or answered
  bool stopping = false;
};

// Serves the connection until either side is done with it.
void start_connection(ServerState& state, boost::asio::ip::tcp::socket socket);
void start_connection(ServerState& state, boost::asio::ip::tcp::socket socket,
                      boost::asio::ssl::context& tls);

}  // namespace perceiver
