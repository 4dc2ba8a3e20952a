// POST /autoencode, and what becomes of jobs: /jobs/{id}, its events and its result.
#include "perceiver/core/text.h"
#include "perceiver/serve/answers.h"
#include "perceiver/serve/begun_job.h"
#include "perceiver/serve/refused.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/multimodal/autoencode.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

AutoencodeOptions autoencode_options(const Asked& asked) {
  AutoencodeOptions options{.masked = asked.list("mask"),
                            .original_sound = asked.text("sound") == "original",
                            .seconds = asked.text("seconds"),
                            .top = asked.number("top", 5)};
  if (asked.has("frames")) {
    const std::string frames = asked.text("frames");
    int64_t count = 0;
    for (const char digit : frames) {
      if (digit < '0' || digit > '9' || count > 1'000'000) {
        refuse(400, "frames: expected a whole number, got '{}'", frames);
      }
      count = 10 * count + (digit - '0');
    }
    if (count < 1) refuse(400, "frames: expected 1 or more, got '{}'", frames);
    options.num_frames = count;
  }
  frame_range(options);
  return options;
}

HttpResponse autoencode_clip(ServerParts& parts, const HttpRequest& request) {
  accepted(request, {"application/json"});
  const Asked asked(request, "POST /autoencode", parts.samples);
  ServedModel& served = model_for(parts, "/autoencode", asked.text("model"), asked.files());
  if (asked.files().size() != 1) refuse(422, "give one clip, got {} files", asked.files().size());
  const AutoencodeOptions options = autoencode_options(asked);
  const auto run = [&parts, &served, options, clip = asked.files()[0]](const fs::path& folder,
                                                                       const auto& go_on) {
    Autoencoded done;
    const auto work = [&](Model& model, const Hooks& hooks) {
      AutoencodeOptions heard = options;
      heard.hooks = hooks;
      done = autoencode(model, clip, folder / "result.mp4", heard);
    };
    if (!parts.engine.run_long(served, work, go_on)) return std::optional<Json>();
    Json json = with_origin(to_json(done), served.model);
    json.erase("output");  // a path of this machine
    return std::optional<Json>(std::move(json));
  };
  return begin_job(parts, {.kind = "autoencode", .run = run});
}

[[noreturn]] void refuse_job(const std::string& id) {
  refuse(404, "there is no job '{}'; it may have been forgotten", id);
}

HttpResponse status_of(ServerParts& parts, const std::string& id) {
  const std::optional<Json> status = parts.jobs.status(id);
  if (!status) refuse_job(id);
  return json_response(*status);
}

HttpResponse events_of(ServerParts& parts, const std::string& id) {
  auto events = parts.jobs.events(id);
  if (!events) refuse_job(id);
  HttpResponse response{.content_type = "text/event-stream"};
  response.headers.emplace_back("Cache-Control", "no-store");
  response.events = *std::move(events);
  return response;
}

HttpResponse result_of(ServerParts& parts, const HttpRequest& request, const std::string& id) {
  const std::optional<Json> status = parts.jobs.status(id);
  if (!status) refuse_job(id);
  accepted(request, {"video/mp4"});
  const fs::path path = parts.jobs.result(id);
  if (path.empty()) {
    refuse(422, "the job is {}; it has no result", status->at("status").get<std::string>());
  }
  return bytes_response("video/mp4", read_file(path).bytes);
}

}  // namespace

HttpResponse begin_job(ServerParts& parts, JobTask task) {
  const std::optional<std::string> id = parts.jobs.begin(std::move(task));
  if (!id) {
    HttpResponse response = error_response(429, "too many jobs wait; ask again later");
    response.headers.emplace_back("Retry-After", "30");
    return response;
  }
  HttpResponse response = json_response({{"id", *id}, {"status", "waiting"}});
  response.status = 202;
  response.headers.emplace_back("Location", "/jobs/" + *id);
  return response;
}

void add_job_routes(Router& router, ServerParts& parts) {
  const auto with_id = [&](const auto& answers) {
    return [&parts, answers](const HttpRequest& request) {
      return answers(parts, request.parts.at("id"));
    };
  };
  add_route(router, parts, "POST", "/autoencode", Effort::kModel,
            [&parts](const HttpRequest& request) { return autoencode_clip(parts, request); });
  add_route(router, parts, "GET", "/jobs/{id}", Effort::kNone, with_id(status_of));
  add_route(router, parts, "GET", "/jobs/{id}/events", Effort::kNone, with_id(events_of));
  add_route(router, parts, "GET", "/jobs/{id}/result", Effort::kHelper,
            [&parts](const HttpRequest& request) {
              return result_of(parts, request, request.parts.at("id"));
            });
  add_route(router, parts, "DELETE", "/jobs/{id}", Effort::kNone,
            with_id([](ServerParts& of, const std::string& id) {
              if (!of.jobs.forget(id)) refuse_job(id);
              return HttpResponse{.status = 204};
            }));
}

}  // namespace perceiver
