#include "perceiver/serve/parts.h"

#include <c10/util/Exception.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "perceiver/core/json_text.h"
#include "perceiver/core/names.h"
#include "perceiver/http/accept.h"
#include "perceiver/media/image.h"
#include "perceiver/media/video.h"
#include "perceiver/serve/refused.h"

namespace perceiver {
namespace {

// The library speaks to people at a terminal: "--pixels: …".
std::string without_dashes(std::string message) {
  for (size_t at = message.find("--"); at != message.npos; at = message.find("--", at)) {
    const bool option = at + 2 < message.size() && std::islower(message[at + 2]) != 0 &&
                        (at == 0 || message[at - 1] == ' ' || message[at - 1] == '\'');
    if (option) {
      message.erase(at, 2);
    } else {
      at += 2;
    }
  }
  return message;
}

bool is_out_of_memory(const c10::Error& e) {
  const std::string_view message = e.what_without_backtrace();
  return message.find("DefaultCPUAllocator") != message.npos ||
         message.find("out of memory") != message.npos;
}

HttpResponse out_of_memory() {
  return error_response(503, "the server has not enough memory for that at the moment");
}

HttpResponse answer(ServerParts& parts, const Answers& answers, const HttpRequest& request) {
  const auto mistake = [&](const std::string& what) {
    if (parts.options.log) {
      parts.options.log(
          json_text(nlohmann::json{{"event", "mistake"}, {"path", request.path}, {"error", what}}));
    }
    return error_response(500, "this is a bug in perceiver; the server's log says more");
  };
  try {
    return answers(request);
  } catch (const Refused& refused) {
    return error_response(refused.status(), refused.what());
  } catch (const Error& e) {
    return error_response(422, without_dashes(e.what()));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const c10::Error& e) {
    return is_out_of_memory(e) ? out_of_memory() : mistake(e.what_without_backtrace());
  } catch (const std::exception& e) {
    return mistake(e.what());
  }
}

// What a file seems to be of, as models read it.
std::string kind_of(std::span<const File> files) {
  if (files.empty()) return "";
  const std::string& name = files[0].name;
  const std::string_view bytes = files[0].bytes;
  const bool picture =
      has_image_ending(name) || bytes.starts_with("\x89PNG") || bytes.starts_with("\xff\xd8\xff");
  if (picture) return files.size() == 2 ? "frames" : "picture";
  if (has_video_ending(name) || has_sound_ending(name) || bytes.starts_with("RIFF")) return "clip";
  return name == "the text" || name.ends_with(".txt") ? "text" : "";
}

int64_t seconds_until_room(const ServerParts& parts) {
  const double queue = static_cast<double>(parts.options.queue);
  const double wait = parts.metrics.mean_model_seconds() * queue / 2;
  return std::clamp<int64_t>(std::llround(std::ceil(wait)), 1, 60);
}

HttpResponse later(int status, const std::string& message, int64_t seconds) {
  HttpResponse response = error_response(status, message);
  response.headers.emplace_back("Retry-After", std::to_string(seconds));
  return response;
}

}  // namespace

ServerParts::ServerParts(ServeOptions chosen)
    : options(std::move(chosen)),
      engine(options.engine, models_to_serve(options.models), metrics),
      latents(options.latents_bytes, options.latents_seconds),
      helpers(options.queue + 4) {}

void add_route(Router& router, ServerParts& parts, const std::string& method,
               const std::string& pattern, Effort effort, Answers answers) {
  Route route{.method = method, .pattern = pattern, .works = effort == Effort::kModel};
  if (method == "POST") route.most_bytes = parts.options.body_bytes;
  // Who watches over the server needs no key, nor does the page, which asks for one.
  route.open = pattern == "/" || pattern == "/health" || pattern.starts_with("/v2/health/");
  if (effort == Effort::kNone) {
    route.handle = [&parts, answers](const HttpRequest& request, const Reply& reply) {
      reply(answer(parts, answers, request));
    };
  } else {
    route.handle = [&parts, answers](HttpRequest request, const Reply& reply) {
      auto kept = std::make_shared<HttpRequest>(std::move(request));
      parts.helpers.post([&parts, answers, kept, reply]() mutable {
        HttpResponse response = answer(parts, answers, *kept);
        kept.reset();  // and its ticket, so that who hears of this answer finds room
        reply(std::move(response));
      });
    };
  }
  router.add(std::move(route));
}

std::optional<HttpResponse> admit(ServerParts& parts, const Route& route, HttpRequest& request) {
  if (!route.works) return {};
  if (parts.stopping) return later(503, "the server is stopping", 5);
  if (parts.engine.state() != Engine::State::kReady) {
    return later(503, "the models are loading", 1);
  }
  if (parts.admitted.fetch_add(1) >= parts.options.queue) {
    --parts.admitted;
    return later(
        429,
        fmt::format("{} requests are being answered, as many as wait at most", parts.options.queue),
        seconds_until_room(parts));
  }
  request.ticket =
      std::shared_ptr<void>(&parts, [](void* of) { --static_cast<ServerParts*>(of)->admitted; });
  return {};
}

ServedModel& model_named(ServerParts& parts, const std::string& name) {
  if (parts.engine.state() != Engine::State::kReady) refuse(503, "the models are loading");
  std::vector<std::string> names;
  for (ServedModel& model : parts.engine.models()) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  refuse(404, "there is no model '{}'{}; there are {}", name, did_you_mean(name, names),
         fmt::join(names, ", "));
}

ServedModel& model_for(ServerParts& parts, const std::string& route, const std::string& name,
                       std::span<const File> files) {
  if (!name.empty()) {
    ServedModel& model = model_named(parts, name);
    if (!model.answers(route)) {
      refuse(422, "{}: a model of the task {} does not answer {}", name, task_name(model.model),
             route);
    }
    return model;
  }
  const std::string kind = kind_of(files);
  ServedModel* first = nullptr;
  for (ServedModel& model : parts.engine.models()) {
    if (!model.answers(route)) continue;
    if (model.reads == kind) return model;
    if (first == nullptr) first = &model;
  }
  if (first == nullptr) refuse(422, "no model that is served answers {}", route);
  return *first;
}

std::string accepted(const HttpRequest& request, const std::vector<std::string>& offered) {
  const std::string best = best_type(request.header("accept"), offered);
  if (best.empty()) {
    refuse(406, "none of what Accept asks for is given here; there is {}",
           fmt::join(offered, ", "));
  }
  return best;
}

void add_timing(HttpResponse& response, const Spent& spent) {
  response.headers.emplace_back("Server-Timing", fmt::format("queue;dur={:.1f}, model;dur={:.1f}",
                                                             1e3 * spent.queue, 1e3 * spent.model));
}

HttpResponse json_response(const nlohmann::ordered_json& json, const Spent& spent) {
  HttpResponse response{.body = json_text(json) + "\n"};
  if (spent.model > 0.0) add_timing(response, spent);
  return response;
}

}  // namespace perceiver
