#include "perceiver/http/connection.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <limits>

#include "perceiver/core/error.h"
#include "perceiver/http/wire.h"

namespace perceiver {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::use_awaitable;
using beast::error_code;
using Clock = std::chrono::steady_clock;

constexpr size_t kBufferBytes = 1 << 17;
constexpr double kLingerSeconds = 2.0, kPollSeconds = 0.1, kAliveSeconds = 15.0;
constexpr double kSlowestClient = 65536.0;  // bytes a second in which an answer is taken, at least

std::chrono::nanoseconds duration(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

// The answer to a request, wherever it comes from.
struct Pending {
  explicit Pending(asio::io_context& io) : timer(io, Clock::time_point::max()) {}
  asio::steady_timer timer;  // ends when the answer is there
  std::optional<HttpResponse> response = {};
};

template <typename Stream>
class Session : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <typename... Args>
  explicit Session(ServerState& state, Args&&... args)
      : state_(state), stream_(std::forward<Args>(args)...), deadline_(state.io) {
    ++state_.connections;
  }
  ~Session() override {
    release_body();
    --state_.connections;
  }

  void close() override { tcp().close(); }

  static asio::awaitable<void> run(std::shared_ptr<Session> self) {
    try {
      co_await self->serve();
    } catch (const std::exception&) {  // the other side has gone, or broke the protocol of TLS
    }
  }

 private:
  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }
  // What is waited for has so long from now on. Beast's own deadlines close the socket, and then
  // nobody can be told why.
  void expire(double seconds) {
    timed_out_ = false;
    deadline_.expires_after(duration(seconds));
    deadline_.async_wait([weak = this->weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (error || !self) return;
      self->timed_out_ = true;
      self->tcp().cancel();
    });
  }
  void expire_never() { deadline_.cancel(); }
  auto waits(error_code& error) { return asio::redirect_error(use_awaitable, error); }

  void release_body() {
    state_.body_bytes -= body_bytes_;
    body_bytes_ = 0;
  }

  asio::awaitable<void> serve() {
    error_code none;
    client_ = tcp().socket().remote_endpoint(none).address().to_string();
    if constexpr (!std::is_same_v<Stream, beast::tcp_stream>) {
      expire(state_.options.limits.head_seconds);
      co_await stream_.async_handshake(asio::ssl::stream_base::server, use_awaitable);
    }
    bool go_on = true;
    while (go_on && !state_.stopping) {
      error_code error;
      WireParser parser;
      co_await read_head(parser, error);
      start_ = Clock::now();
      exchange_ = {.method = "-", .path = "-", .client = client_};
      if (error) {
        std::optional<HttpResponse> refusal = refusal_of(error);
        if (timed_out_ && buffer_.size() > 0) refusal = late("the headers");
        if (refusal) co_await answer(std::move(*refusal), false);
        break;
      }
      go_on = co_await answer_request(parser);
      release_body();
    }
    co_await end();
  }

  // While it waits for a head, a connection may be closed to make room for another.
  asio::awaitable<void> read_head(WireParser& parser, error_code& error) {
    const auto place = state_.waiting.insert(state_.waiting.end(), this);
    parser.header_limit(kMostHeaderBytes);
    parser.body_limit(std::numeric_limits<uint64_t>::max());  // the route decides
    if (buffer_.size() == 0) {
      expire(state_.options.limits.idle_seconds);
      const size_t got = co_await stream_.async_read_some(buffer_.prepare(4096), waits(error));
      buffer_.commit(got);
    }
    if (!error) {
      expire(state_.options.limits.head_seconds);
      co_await http::async_read_header(stream_, buffer_, parser, waits(error));
    }
    state_.waiting.erase(place);
  }

  // -> whether the connection can take another request
  asio::awaitable<bool> answer_request(WireParser& parser) {
    std::optional<HttpRequest> request = head_of(parser);
    if (!request) {
      HttpResponse broken = error_response(400, "the request's target is broken");
      co_return co_await answer(std::move(broken), false);
    }
    request->client = client_;
    exchange_.method = request->method;
    exchange_.path = request->path;
    head_only_ = request->method == "HEAD";
    std::string allowed;
    const Route* route = state_.router->find(*request, allowed);
    if (route != nullptr) exchange_.route = route->pattern;
    std::optional<HttpResponse> response = answer_to_head(state_.policy, *request, route, allowed);
    if (!response) response = refuse_size(parser, *route);
    if (!response && state_.hooks.admit) response = state_.hooks.admit(*route, *request);
    bool whole = parser.is_done();  // there is no body, or it came with the head
    if (!response) {
      response = co_await read_body(parser, *route);
      whole = !response;
    }
    const HttpRequest head{.headers = request->headers};
    if (!response) {
      request->body = std::move(parser.get().body());
      exchange_.bytes_in = static_cast<int64_t>(request->body.size());
      response = co_await handled(*route, std::move(*request));
    }
    add_cors(state_.policy, head, *response);
    co_return co_await answer(*response, whole && parser.get().keep_alive());
  }

  static HttpResponse late(const char* what) {
    return error_response(408, fmt::format("{} did not come in time", what));
  }

  static std::optional<HttpResponse> refuse_size(WireParser& parser, const Route& route) {
    const auto length = parser.content_length();
    if (length && *length > static_cast<uint64_t>(route.most_bytes)) {
      return error_response(413, fmt::format("the body has {} bytes, {} takes {} at most", *length,
                                             route.pattern, route.most_bytes));
    }
    parser.body_limit(static_cast<uint64_t>(route.most_bytes));
    return {};
  }

  // -> a refusal, or nothing when the body is there
  asio::awaitable<std::optional<HttpResponse>> read_body(WireParser& parser, const Route& route) {
    error_code error;
    expire(state_.options.limits.body_seconds);
    if (!parser.is_done() && beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue), waits(error));
    }
    while (!error && !parser.is_done()) {
      co_await http::async_read_some(stream_, buffer_, parser, waits(error));
      const auto size = static_cast<int64_t>(parser.get().body().size());
      state_.body_bytes += size - body_bytes_;
      body_bytes_ = size;
      if (state_.body_bytes > state_.options.limits.body_memory) {
        HttpResponse full =
            error_response(503, "the bodies of all requests fill the memory for them");
        full.headers.emplace_back("Retry-After", "1");
        co_return full;
      }
    }
    if (!error) co_return std::nullopt;
    if (timed_out_) co_return late("the body");
    if (error == http::error::body_limit) {
      co_return error_response(413, fmt::format("the body is too large, {} takes {} bytes at most",
                                                route.pattern, route.most_bytes));
    }
    if (const auto refusal = refusal_of(error)) co_return refusal;
    throw beast::system_error(error);
  }

  void hand_over(const Route& route, HttpRequest request, const std::shared_ptr<Pending>& pending) {
    const Reply reply([pending, &io = state_.io](HttpResponse response) {
      asio::post(io, [pending, response = std::move(response)]() mutable {
        pending->response = std::move(response);
        pending->timer.cancel();
      });
    });
    try {
      route.handle(std::move(request), reply);
    } catch (const Error& e) {
      reply(error_response(400, e.what()));
    }
  }

  asio::awaitable<HttpResponse> handled(const Route& route, HttpRequest request) {
    expire_never();
    const auto pending = std::make_shared<Pending>(state_.io);
    hand_over(route, std::move(request), pending);
    error_code error;
    co_await pending->timer.async_wait(waits(error));
    co_return std::move(*pending->response);
  }

  // -> whether the connection can take another request
  asio::awaitable<bool> answer(HttpResponse response, bool keep_alive) {
    keep_alive = keep_alive && !state_.stopping && !response.events;
    exchange_.status = response.status;
    http::response<http::string_body> message{static_cast<http::status>(response.status), 11};
    message.set(http::field::server, "perceiver");
    if (response.status != 204) message.set(http::field::content_type, response.content_type);
    message.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) message.insert(name, value);
    message.keep_alive(keep_alive);
    if (!response.events) message.content_length(response.body.size());
    if (!head_only_) message.body() = std::move(response.body);
    exchange_.bytes_out = static_cast<int64_t>(message.body().size());
    expire(state_.options.limits.body_seconds + exchange_.bytes_out / kSlowestClient);
    http::response_serializer<http::string_body> serializer(message);
    if (head_only_ || response.events) {
      co_await http::async_write_header(stream_, serializer, use_awaitable);
    } else {
      co_await http::async_write(stream_, serializer, use_awaitable);
    }
    if (response.events && !head_only_) co_await send_events(response.events);
    exchange_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (state_.hooks.done) state_.hooks.done(exchange_);
    co_return keep_alive;
  }

  // The stream ends with the connection. A line now and then finds out that the client has gone.
  asio::awaitable<void> send_events(const std::function<EventPoll()>& poll) {
    asio::steady_timer timer(state_.io);
    double silent = 0.0;
    for (;;) {
      EventPoll next = poll();
      if (next.event.empty() && silent >= kAliveSeconds) next.event = ": still here\n\n";
      if (!next.event.empty()) {
        expire(state_.options.limits.body_seconds);
        co_await asio::async_write(stream_, asio::buffer(next.event), use_awaitable);
        exchange_.bytes_out += static_cast<int64_t>(next.event.size());
        silent = 0.0;
      }
      if (next.ended) co_return;
      expire_never();
      timer.expires_after(duration(kPollSeconds));
      co_await timer.async_wait(use_awaitable);
      silent += kPollSeconds;
    }
  }

  // What still comes is read for a moment: closed at once, the answer could be lost with it.
  asio::awaitable<void> end() {
    error_code error;
    expire(kLingerSeconds);
    if constexpr (!std::is_same_v<Stream, beast::tcp_stream>) {
      co_await stream_.async_shutdown(waits(error));
    } else {
      tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
      buffer_.clear();
      while (!error) co_await stream_.async_read_some(buffer_.prepare(65536), waits(error));
    }
    tcp().close();
  }

  ServerState& state_;
  Stream stream_;
  asio::steady_timer deadline_;
  bool timed_out_ = false;
  beast::flat_buffer buffer_{kBufferBytes};
  std::string client_;
  int64_t body_bytes_ = 0;
  Clock::time_point start_ = {};
  Exchange exchange_ = {};
  bool head_only_ = false;
};

template <typename Stream, typename... Args>
void start(ServerState& state, Args&&... args) {
  auto session = std::make_shared<Session<Stream>>(state, std::forward<Args>(args)...);
  asio::co_spawn(state.io, Session<Stream>::run(std::move(session)), asio::detached);
}

}  // namespace

void start_connection(ServerState& state, asio::ip::tcp::socket socket) {
  start<beast::tcp_stream>(state, std::move(socket));
}

void start_connection(ServerState& state, asio::ip::tcp::socket socket, asio::ssl::context& tls) {
  start<beast::ssl_stream<beast::tcp_stream>>(state, std::move(socket), tls);
}

}  // namespace perceiver
