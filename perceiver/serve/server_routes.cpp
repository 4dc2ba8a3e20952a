// The routes about the server itself: its page, its health, what it counts, what it has.
#include <ATen/Parallel.h>

#include "perceiver/core/json_text.h"
#include "perceiver/page/page.h"
#include "perceiver/serve/answers.h"
#include "perceiver/serve/openapi.h"
#include "perceiver/serve/parts.h"
#include "perceiver/serve/refused.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

HttpResponse health(const ServerParts& parts) {
  const bool loading = parts.engine.state() != Engine::State::kReady;
  HttpResponse response = json_response({{"status", parts.stopping ? "stopping"
                                                    : loading      ? "loading"
                                                                   : "ok"}});
  if (parts.stopping || loading) response.status = 503;
  return response;
}

HttpResponse metrics(ServerParts& parts, const HttpServer* server) {
  const Gauges now{.connections = server == nullptr ? 0 : server->connections(),
                   .admitted = parts.admitted,
                   .waiting = parts.engine.waiting(),
                   .latents = parts.latents.count(),
                   .latent_bytes = parts.latents.bytes(),
                   .jobs = parts.jobs.unfinished()};
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = parts.metrics.text(now)};
}

Json limits_of(const ServeOptions& options) {
  const HttpLimits& http = options.http.limits;
  return {{"queue", options.queue},
          {"batch", options.engine.most_rows},
          {"connections", http.connections},
          {"body_bytes", options.body_bytes},
          {"body_memory_bytes", http.body_memory},
          {"body_seconds", http.body_seconds},
          {"pixels", options.pixels},
          {"seconds", options.seconds},
          {"latents_bytes", options.latents_bytes},
          {"latents_seconds", options.latents_seconds}};
}

std::string dtype_name(at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return "bfloat16";
  return dtype == at::kHalf ? "float16" : "float32";
}

HttpResponse info(ServerParts& parts) {
  const ServeOptions& options = parts.options;
  Json models = Json::array();
  if (parts.engine.state() == Engine::State::kReady) {
    for (const ServedModel& served : parts.engine.models()) models.push_back(to_json(served, true));
  }
  const int64_t threads = options.engine.threads;
  return json_response({{"version", options.version},
                        {"device", options.engine.device.str()},
                        {"dtype", dtype_name(options.engine.dtype)},
                        {"threads", threads > 0 ? threads : at::get_num_threads()},
                        {"limits", limits_of(options)},
                        {"models", std::move(models)}});
}

HttpResponse samples(const ServerParts& parts) {
  Json list = Json::array();
  for (const Sample& sample : parts.samples.all()) list.push_back(to_json(sample));
  return json_response(list);
}

HttpResponse sample(const ServerParts& parts, const HttpRequest& request) {
  const std::string& name = request.parts.at("name");
  const Sample* found = parts.samples.find(name);
  if (found == nullptr) refuse(404, "there is no sample '{}'; see /samples", name);
  accepted(request, {found->type});
  HttpResponse response = bytes_response(found->type, read_file(found->path).bytes);
  response.headers.emplace_back("Cache-Control", "max-age=3600");
  return response;
}

}  // namespace

void add_server_routes(Router& router, ServerParts& parts, HttpServer* const& server) {
  const auto get = [&](const std::string& pattern, const Answers& answers) {
    add_route(router, parts, "GET", pattern, Effort::kNone, answers);
  };
  get("/", [](const HttpRequest&) { return page_response(); });
  get("/health", [&parts](const HttpRequest&) { return health(parts); });
  get("/metrics", [&parts, &server](const HttpRequest&) { return metrics(parts, server); });
  get("/info", [&parts](const HttpRequest&) { return info(parts); });
  get("/samples", [&parts](const HttpRequest&) { return samples(parts); });
  add_route(router, parts, "GET", "/samples/{name}", Effort::kHelper,
            [&parts](const HttpRequest& request) { return sample(parts, request); });
}

void add_docs_routes(Router& router, ServerParts& parts) {
  // Made once, when all routes are there.
  Router all = router;
  for (const char* pattern : {"/docs", "/docs/openapi.json"}) {
    add_route(all, parts, "GET", pattern, Effort::kNone, {});
  }
  const Json document = openapi_document(all, parts.options.version);
  const HttpResponse page = docs_page(document);
  const HttpResponse json{.body = json_text(document, 2) + "\n"};
  add_route(router, parts, "GET", "/docs", Effort::kNone,
            [page](const HttpRequest&) { return page; });
  add_route(router, parts, "GET", "/docs/openapi.json", Effort::kNone,
            [json](const HttpRequest&) { return json; });
}

}  // namespace perceiver
