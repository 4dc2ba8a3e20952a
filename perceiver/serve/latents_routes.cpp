// POST /encode and /query, and the latents that are kept: /latents.
#include <ATen/ATen.h>

#include <chrono>

#include "perceiver/serve/answers.h"
#include "perceiver/serve/parts.h"
#include "perceiver/serve/refused.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/optical_flow/pixel_attention.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

// Latents of what a request sent, named as the model is.
struct Encoded {
  ServedModel& served;
  LatentsFile file;
  Spent spent;
};

Encoded encode_asked(ServerParts& parts, const HttpRequest& request, const std::string& route) {
  const Asked asked(request, "POST " + route, parts.samples);
  ServedModel& served = model_for(parts, route, asked.text("model"), asked.files());
  Encoded encoded{.served = served, .file = {}, .spent = {}};
  encoded.spent =
      parts.engine.run(served, [&](Model& model) { encoded.file = encode(model, asked.files()); });
  encoded.file.model = served.name;
  return encoded;
}

Json numbers_of(const Tensor& latents) {
  const Tensor flat = latents.contiguous();
  Json numbers = Json::array();
  for (int64_t i = 0; i < flat.numel(); ++i) numbers.push_back(flat.const_data_ptr<float>()[i]);
  return numbers;
}

HttpResponse encode_route(ServerParts& parts, const HttpRequest& request) {
  const std::string type = accepted(request, {"application/json", "application/octet-stream"});
  const Encoded encoded = encode_asked(parts, request, "/encode");
  const LatentsFile& file = encoded.file;
  if (type == "application/octet-stream") {
    HttpResponse response = bytes_response(type, encode_latents(file));
    add_timing(response, encoded.spent);
    return response;
  }
  const Json json = {{"model", file.model},
                     {"task", file.task},
                     {"fingerprint", file.fingerprint},
                     {"shape", file.latents().sizes().vec()},
                     {"latents", numbers_of(file.latents())}};
  return json_response(with_origin(json, encoded.served.model), encoded.spent);
}

Query query_of(const Asked& asked) {
  return {.pixels = asked.list("pixels"),
          .box = asked.text("box"),
          .frames = asked.text("frames"),
          .seconds = asked.text("seconds"),
          .words = asked.text("words"),
          .tasks = asked.list("tasks"),
          .label = asked.flag("label"),
          .top = asked.number("top", 5)};
}

// The one that made them, as the file says.
ServedModel& model_of(ServerParts& parts, const Asked& asked, const LatentsFile& file) {
  if (asked.has("model")) return model_named(parts, asked.text("model"));
  ServedModel* same_task = nullptr;
  for (ServedModel& served : parts.engine.models()) {
    if (served.model.fingerprint == file.fingerprint) return served;
    if (task_name(served.model) == file.task) same_task = &served;
  }
  if (same_task == nullptr) refuse(422, "the latents are of {}, which is not served", file.model);
  return *same_task;
}

HttpResponse query_route(ServerParts& parts, const HttpRequest& request) {
  const Asked asked(request, "POST /query", parts.samples);
  if (asked.files().size() != 1) refuse(400, "give one file of latents");
  const LatentsFile file = decode_latents({"the latents", asked.files()[0].bytes});
  ServedModel& served = model_of(parts, asked, file);
  Answer answer;
  const Spent spent =
      parts.engine.run(served, [&](Model& model) { answer = query(model, file, query_of(asked)); });
  HttpResponse response = answer_response(answer, request, with_origin({}, served.model));
  add_timing(response, spent);
  return response;
}

Json about(ServerParts& parts, const KeptLatents& kept) {
  const ServedModel& served = parts.engine.models()[kept.model];
  Json questions = Json::array();
  for (const std::string& option : application_of(served.model).questions()) {
    questions.push_back(option.substr(2));  // "--pixels"
  }
  Json json = {{"id", kept.id},
               {"model", served.name},
               {"task", kept.file.task},
               {"shape", kept.file.latents().sizes().vec()},
               {"bytes", kept.bytes},
               {"expires", parts.latents.seconds_left(kept.id)},
               {"questions", std::move(questions)},
               {"seconds", kept.seconds}};
  const auto size = kept.file.geometry.find("frame_size");
  if (size != kept.file.geometry.end()) json["frame_size"] = size->second;
  return json;
}

HttpResponse keep_latents(ServerParts& parts, const HttpRequest& request) {
  accepted(request, {"application/json"});
  Encoded encoded = encode_asked(parts, request, "/latents");
  const auto model = static_cast<size_t>(&encoded.served - parts.engine.models().data());
  const auto kept = parts.latents.keep(model, std::move(encoded.file), encoded.spent.model);
  HttpResponse response = json_response(about(parts, *kept), encoded.spent);
  response.status = 201;
  response.headers.emplace_back("Location", "/latents/" + kept->id);
  return response;
}

std::shared_ptr<const KeptLatents> kept_of(ServerParts& parts, const std::string& id, bool ask) {
  auto kept = parts.latents.find(id, ask);
  if (!kept) refuse(404, "there are no latents '{}'; they may have been let go: encode again", id);
  return kept;
}

HttpResponse query_kept(ServerParts& parts, const HttpRequest& request) {
  const auto kept = kept_of(parts, request.parts.at("id"), /*ask=*/true);
  const Asked asked(request, "POST /latents/{id}/query", parts.samples);
  const Query question = query_of(asked);
  ServedModel& served = parts.engine.models()[kept->model];
  const bool look = asked.flag("attention");
  if (look && question.pixels.size() != 1) refuse(422, "attention: ask for one pixel, of a flow");
  Answer answer;
  std::optional<PixelAttention> seen;
  Spent spent =
      parts.engine.run(served, [&](Model& model) { answer = query(model, kept->file, question); });
  if (look) {
    parts.engine.run(served, [&](Model& model) {
      seen = attention_of_pixel(model, kept->file, question.pixels[0]);
    });
  }
  Json more = with_origin({{"seconds", spent.model}}, served.model);
  if (seen) {
    more["attention"] = {
        {"left", seen->left}, {"top", seen->top}, {"rows", weights_json(seen->weights)}};
  }
  HttpResponse response = answer_response(answer, request, std::move(more));
  add_timing(response, spent);
  return response;
}

}  // namespace

void add_latents_routes(Router& router, ServerParts& parts) {
  const auto with_parts = [&](const auto& answers) {
    return [&parts, answers](const HttpRequest& request) { return answers(parts, request); };
  };
  add_route(router, parts, "POST", "/encode", Effort::kModel, with_parts(encode_route));
  add_route(router, parts, "POST", "/query", Effort::kModel, with_parts(query_route));
  add_route(router, parts, "POST", "/latents", Effort::kModel, with_parts(keep_latents));
  add_route(
      router, parts, "GET", "/latents/{id}", Effort::kNone, [&parts](const HttpRequest& request) {
        return json_response(about(parts, *kept_of(parts, request.parts.at("id"), /*ask=*/false)));
      });
  add_route(router, parts, "DELETE", "/latents/{id}", Effort::kNone,
            [&parts](const HttpRequest& request) {
              kept_of(parts, request.parts.at("id"), /*ask=*/false);
              parts.latents.forget(request.parts.at("id"));
              return HttpResponse{.status = 204};
            });
  add_route(router, parts, "POST", "/latents/{id}/query", Effort::kModel, with_parts(query_kept));
}

}  // namespace perceiver
