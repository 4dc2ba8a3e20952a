#include "perceiver/serve/service.h"

#include <fmt/chrono.h>

#include <chrono>
#include <thread>

#include "perceiver/core/json_text.h"
#include "perceiver/media/reading_limits.h"

namespace perceiver {
namespace {

// {"time": "2026-01-02T03:04:05.678Z", "event": "answer", …}
std::string log_line(const Exchange& exchange) {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  return json_text(nlohmann::ordered_json{
      {"time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), milliseconds)},
      {"event", "answer"},
      {"client", exchange.client},
      {"method", exchange.method},
      {"path", exchange.path},
      {"status", exchange.status},
      {"ms", std::round(1e4 * exchange.seconds) / 10},
      {"in", exchange.bytes_in},
      {"out", exchange.bytes_out}});
}

Router router_of(ServerParts& parts, HttpServer* const& server) {
  Router router;
  add_server_routes(router, parts, server);
  add_text_routes(router, parts);
  add_flow_routes(router, parts);
  add_attend_routes(router, parts);
  add_latents_routes(router, parts);
  add_job_routes(router, parts);
  add_embedding_routes(router, parts);
  add_oip_routes(router, parts);
  add_docs_routes(router, parts);
  return router;
}

}  // namespace

Service::Service(ServeOptions options) {
  most_pixels_read = options.pixels;
  most_seconds_read = options.seconds;
  parts_ = std::make_unique<ServerParts>(std::move(options));
  ServerParts& parts = *parts_;
  server_ = std::make_unique<HttpServer>(
      parts.options.http, std::make_shared<const Router>(router_of(parts, listening_)),
      HttpHooks{.admit = [&parts](const Route& route,
                                  HttpRequest& request) { return admit(parts, route, request); },
                .done =
                    [&parts](const Exchange& exchange) {
                      parts.metrics.answered(exchange.route, exchange.status, exchange.seconds);
                      if (parts.options.log) parts.options.log(log_line(exchange));
                    }});
  listening_ = server_.get();
}

Service::~Service() = default;

uint16_t Service::port() const { return server_->port(); }
std::string Service::url() const { return server_->url(); }

void Service::run() {
  std::thread watch([this] {
    parts_->engine.wait_until_loaded();
    if (parts_->engine.state() == Engine::State::kFailed) stop();
  });
  server_->run();
  watch.join();
  if (parts_->engine.failure()) std::rethrow_exception(parts_->engine.failure());
}

void Service::stop() {
  parts_->stopping = true;
  parts_->jobs.cancel_all();
  server_->stop();
}

}  // namespace perceiver
