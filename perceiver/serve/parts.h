// What the routes of a server share.
#pragma once

#include <atomic>
#include <functional>
#include <span>

#include "perceiver/http/server.h"
#include "perceiver/serve/asked.h"
#include "perceiver/serve/engine.h"
#include "perceiver/serve/helpers.h"
#include "perceiver/serve/jobs.h"
#include "perceiver/serve/latents_store.h"
#include "perceiver/serve/samples.h"

namespace perceiver {

struct ServeOptions {
  std::vector<std::string> models = {};  // as -m takes them; none: those that come with the program
  HttpOptions http = {};
  EngineOptions engine = {};
  int64_t queue = 64;                                // requests that models answer, at once
  int64_t body_bytes = int64_t{64} << 20;            // of a request
  int64_t pixels = int64_t{1} << 24;                 // of a picture
  double seconds = 60.0;                             // of a clip or a sound
  int64_t latents_bytes = int64_t{1} << 30;          // of all latents that are kept
  double latents_seconds = 600.0;                    // that they are kept after they were asked
  std::string version = {};                          // of the program
  std::function<void(const std::string&)> log = {};  // a line for each answer, in JSON
};

struct ServerParts {
  explicit ServerParts(ServeOptions chosen);

  const ServeOptions options;
  ServerMetrics metrics;
  Engine engine;
  LatentsStore latents;
  const Samples samples;
  Jobs jobs;
  Helpers helpers;  // the first to end: they use all the others

  std::atomic<int64_t> admitted = 0;  // requests that models answer
  std::atomic<bool> stopping = false;
};

// Who answers a route.
using Answers = std::function<HttpResponse(const HttpRequest& request)>;
enum class Effort { kNone, kHelper, kModel };

// On the server's thread where that takes no effort, else by a helper; what needs a model is
// counted against the queue. Errors become answers.
void add_route(Router& router, ServerParts& parts, const std::string& method,
               const std::string& pattern, Effort effort, Answers answers);

// Before the body is read: a refusal, or nothing, with the request's ticket set.
std::optional<HttpResponse> admit(ServerParts& parts, const Route& route, HttpRequest& request);

// The model of that name, or, of those that answer the route, the first that reads such files.
ServedModel& model_for(ServerParts& parts, const std::string& route, const std::string& name,
                       std::span<const File> files);
ServedModel& model_named(ServerParts& parts, const std::string& name);  // refuses with 404

// Which of these types the client likes best; refuses with 406.
std::string accepted(const HttpRequest& request, const std::vector<std::string>& offered);

HttpResponse json_response(const nlohmann::ordered_json& json, const Spent& spent = {});
void add_timing(HttpResponse& response, const Spent& spent);

// The routes, by what they are about.
void add_server_routes(Router& router, ServerParts& parts, HttpServer* const& server);
void add_text_routes(Router& router, ServerParts& parts);
void add_flow_routes(Router& router, ServerParts& parts);
void add_latents_routes(Router& router, ServerParts& parts);
void add_job_routes(Router& router, ServerParts& parts);
void add_embedding_routes(Router& router, ServerParts& parts);
void add_attend_routes(Router& router, ServerParts& parts);
void add_oip_routes(Router& router, ServerParts& parts);
void add_docs_routes(Router& router, ServerParts& parts);  // the last: about all before it

}  // namespace perceiver
