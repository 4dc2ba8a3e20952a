// POST /attend.
#include <ATen/ATen.h>

#include "perceiver/serve/answers.h"
#include "perceiver/serve/latents_store.h"
#include "perceiver/serve/parts.h"
#include "perceiver/serve/refused.h"
#include "perceiver/tasks/attend.h"
#include "perceiver/tasks/json.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

AttendOptions options_of(const Asked& asked) {
  const int ways = asked.has("latents") + asked.has("clusters") + asked.flag("query");
  if (ways > 1) refuse(400, "latents, clusters and query: give one of them");
  AttendOptions options{.query = asked.flag("query"),
                        .clusters = asked.number("clusters", 6),
                        .seed = static_cast<uint64_t>(asked.number("seed", 0))};
  for (const std::string& latent : asked.list("latents")) {
    options.latents.push_back(std::stoll(latent));
  }
  if (asked.has("head")) options.head = asked.number("head", 0);
  return options;
}

// As the verb draws them.
std::string drawing_of(const AttendMaps& maps, const std::string& ending) {
  const fs::path path = fs::temp_directory_path() / ("perceiver-" + new_id() + ending);
  draw_maps(maps.shown(), maps.drawn(), path.string());
  std::string bytes = read_file(path).bytes;
  fs::remove(path);
  return bytes;
}

Json json_of(const AttendMaps& maps, bool weights) {
  Json list = to_json(maps);
  const std::vector<NamedMap> drawn = maps.drawn();
  for (size_t i = 0; weights && i < drawn.size(); ++i) {
    list[i]["weights"] = weights_json(drawn[i].weights);
  }
  return {{"maps", std::move(list)},
          {"view", {{"modality", maps.shown().modality}, {"grid", maps.shown().grid}}}};
}

HttpResponse attend_route(ServerParts& parts, const HttpRequest& request) {
  const Asked asked(request, "POST /attend", parts.samples);
  ServedModel& served = model_for(parts, "/attend", asked.text("model"), asked.files());
  const bool text = served.reads == "text";
  const std::string type =
      accepted(request, {"application/json", text ? "text/html" : "image/png"});
  const AttendOptions options = options_of(asked);
  AttendMaps maps;
  const Spent spent =
      parts.engine.run(served, [&](Model& model) { maps = attend(model, asked.files(), options); });
  HttpResponse response =
      type == "application/json"
          ? json_response(with_origin(json_of(maps, asked.flag("weights")), served.model))
          : bytes_response(type == "text/html" ? "text/html; charset=utf-8" : type,
                           drawing_of(maps, text ? ".html" : ".png"));
  if (type == "text/html") {
    response.headers.emplace_back("Content-Security-Policy",
                                  "default-src 'none'; style-src 'unsafe-inline'");
  }
  add_timing(response, spent);
  return response;
}

}  // namespace

void add_attend_routes(Router& router, ServerParts& parts) {
  add_route(router, parts, "POST", "/attend", Effort::kModel,
            [&parts](const HttpRequest& request) { return attend_route(parts, request); });
}

}  // namespace perceiver
