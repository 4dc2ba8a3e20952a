#include "perceiver/http/server.h"

#include <sys/resource.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "perceiver/core/error.h"
#include "perceiver/http/connection.h"

namespace perceiver {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Connections are files to the system, which lets a program have few of them unless it asks.
void allow_open_files(int64_t connections) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  constexpr rlim_t kOthers = 256;
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOthers;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  setrlimit(RLIMIT_NOFILE, &limit);
}

tcp::endpoint endpoint_of(const HttpOptions& options, asio::io_context& io) {
  error_code error;
  const auto found = tcp::resolver(io).resolve(options.host, std::to_string(options.port), error);
  if (error) fail("--host {}: {}", options.host, error.message());
  return *found.begin();
}

std::unique_ptr<asio::ssl::context> tls_of(const HttpOptions& options) {
  if (options.certificate.empty() && options.private_key.empty()) return nullptr;
  if (options.certificate.empty() || options.private_key.empty()) {
    fail("--tls-cert and --tls-key: give both, or neither");
  }
  auto tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                   asio::ssl::context::no_tlsv1_1);
  error_code error;
  tls->use_certificate_chain_file(options.certificate.string(), error);
  if (error) fail("--tls-cert {}: {}", options.certificate.string(), error.message());
  tls->use_private_key_file(options.private_key.string(), asio::ssl::context::pem, error);
  if (error) fail("--tls-key {}: {}", options.private_key.string(), error.message());
  return tls;
}

}  // namespace

class HttpServer::Listener {
 public:
  Listener(HttpOptions options, std::shared_ptr<const Router> router, HttpHooks hooks)
      : tls_(tls_of(options)), acceptor_(state_.io), again_(state_.io) {
    state_.policy = {.keys = options.keys, .cors = options.cors};
    state_.router = std::move(router);
    state_.hooks = std::move(hooks);
    state_.options = std::move(options);
    allow_open_files(state_.options.limits.connections);
    open();
  }

  void run() {
    accept();
    state_.io.run();
  }

  void stop() {
    asio::post(state_.io, [this] {
      state_.stopping = true;
      error_code ignored;
      acceptor_.close(ignored);
      again_.cancel();
      for (Connection* connection : state_.waiting) connection->close();
    });
  }

  const ServerState& state() const { return state_; }
  bool is_secure() const { return tls_ != nullptr; }
  tcp::endpoint endpoint() const { return endpoint_; }

 private:
  void open() {
    const HttpOptions& options = state_.options;
    const tcp::endpoint wanted = endpoint_of(options, state_.io);
    error_code error;
    acceptor_.open(wanted.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(wanted, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) fail("cannot listen on {}:{}: {}", options.host, options.port, error.message());
    endpoint_ = acceptor_.local_endpoint();
  }

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (state_.stopping) return;
      if (error) return wait_and_accept();
      take(std::move(socket));
      accept();
    });
  }

  // No more files may be open, or the system has no memory: one that waits makes room.
  void wait_and_accept() {
    close_longest_waiting();
    again_.expires_after(std::chrono::milliseconds(10));
    again_.async_wait([this](error_code) {
      if (!state_.stopping) accept();
    });
  }

  void take(tcp::socket socket) {
    if (state_.connections >= state_.options.limits.connections) {
      if (state_.waiting.empty()) return;  // all of them are at work: this one is closed
      close_longest_waiting();
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (tls_) {
      start_connection(state_, std::move(socket), *tls_);
    } else {
      start_connection(state_, std::move(socket));
    }
  }

  void close_longest_waiting() {
    if (state_.waiting.empty()) return;
    state_.waiting.front()->close();
    // It leaves the list when it wakes up: until then, others come first.
    state_.waiting.splice(state_.waiting.end(), state_.waiting, state_.waiting.begin());
  }

  std::unique_ptr<asio::ssl::context> tls_;
  ServerState state_;
  tcp::acceptor acceptor_;
  asio::steady_timer again_;
  tcp::endpoint endpoint_;
};

HttpServer::HttpServer(HttpOptions options, std::shared_ptr<const Router> router, HttpHooks hooks)
    : listener_(
          std::make_unique<Listener>(std::move(options), std::move(router), std::move(hooks))) {}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return listener_->endpoint().port(); }

std::string HttpServer::url() const {
  const tcp::endpoint at = listener_->endpoint();
  const std::string address = at.address().to_string();
  return fmt::format("{}://{}:{}", listener_->is_secure() ? "https" : "http",
                     at.address().is_v6() ? "[" + address + "]" : address, at.port());
}

void HttpServer::run() { listener_->run(); }
void HttpServer::stop() { listener_->stop(); }
int64_t HttpServer::connections() const { return listener_->state().connections; }

}  // namespace perceiver
