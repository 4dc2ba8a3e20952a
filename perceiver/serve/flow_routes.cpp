// POST /flow: of two frames at once, of a video as a job.
#include <ATen/ATen.h>

#include "perceiver/core/config.h"
#include "perceiver/media/image.h"
#include "perceiver/media/video.h"
#include "perceiver/serve/answers.h"
#include "perceiver/serve/begun_job.h"
#include "perceiver/serve/parts.h"
#include "perceiver/serve/reading.h"
#include "perceiver/serve/refused.h"
#include "perceiver/tasks/json.h"
#include "perceiver/tasks/optical_flow/files.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

FlowFormat picture_format(const Asked& asked) {
  if (asked.text("format") == "arrows") return FlowFormat::kArrows;
  return asked.text("format") == "kitti" ? FlowFormat::kKitti : FlowFormat::kColours;
}

HttpResponse flow_of_frames(ServerParts& parts, const HttpRequest& request, const Asked& asked,
                            ServedModel& served) {
  const std::string type =
      accepted(request, {"application/json", "image/png", "application/octet-stream"});
  Tensor first, second;
  {
    const ReadingPlace place;
    first = decode_image(asked.files()[0]);
    second = decode_image(asked.files()[1]);
  }
  std::optional<FlowEstimate> found;
  const Spent spent = parts.engine.run(
      served, [&](Model& model) { found = FlowEstimator(model, {})(first, second); });
  const FlowStyle style{.legend = asked.flag("legend"), .max_flow = asked.real("max_flow", 0.0)};
  HttpResponse response;
  if (type == "application/json") {
    PairReport report;
    report.seconds = found->seconds;
    describe_flow(report, found->flow);
    const Json json = {{"width", first.size(2)},
                       {"height", first.size(1)},
                       {"mean_flow", report.mean_flow},
                       {"max_flow", report.max_flow},
                       {"seconds", report.seconds}};
    response = json_response(with_origin(json, served.model));
  } else {
    const FlowFormat format = type == "image/png" ? picture_format(asked) : FlowFormat::kFlo;
    response = bytes_response(type, encode_field(found->flow, format, first, style));
  }
  add_timing(response, spent);
  return response;
}

HttpResponse flow_of_video(ServerParts& parts, const HttpRequest& request, const Asked& asked,
                           ServedModel& served) {
  accepted(request, {"application/json"});
  const File& video = asked.files()[0];
  if (has_image_ending(video.name))
    refuse(422, "{}: flow takes two frames, or a video", video.name);
  if (picture_format(asked) == FlowFormat::kKitti) {
    refuse(422, "format: a video cannot hold kitti; take colours or arrows");
  }
  FlowJob job;
  job.output.format = asked.text("format");
  job.output.style = {.legend = asked.flag("legend"), .max_flow = asked.real("max_flow", 0.0)};
  const auto run = [&parts, &served, job, video](const fs::path& folder, const auto& go_on) {
    FlowJob here = job;
    const fs::path ending = fs::path(video.name).extension();
    const fs::path clip = folder / (has_video_ending(video.name) ? "clip" + ending.string()
                                                                 : std::string("clip.mp4"));
    write_file(clip, video.bytes);
    here.inputs = {clip.string()};
    here.output.path = (folder / "result.mp4").string();
    FlowResult result;
    const auto work = [&](Model& model, const Hooks& hooks) {
      result = flow_of_files(model, here, {.hooks = hooks});
    };
    if (!parts.engine.run_long(served, work, go_on)) return std::optional<Json>();
    double mean = 0.0, most = 0.0;
    for (const PairReport& pair : result.pairs) {
      mean += pair.mean_flow / static_cast<double>(result.pairs.size());
      most = std::max(most, pair.max_flow);
    }
    const Json json = {{"pairs", result.pairs.size()}, {"mean_flow", mean}, {"max_flow", most}};
    return std::optional<Json>(with_origin(json, served.model));
  };
  return begin_job(parts, {.kind = "flow", .run = run});
}

HttpResponse flow(ServerParts& parts, const HttpRequest& request) {
  const Asked asked(request, "POST /flow", parts.samples);
  ServedModel& served = model_for(parts, "/flow", asked.text("model"), asked.files());
  if (asked.files().size() > 2) {
    refuse(422, "flow takes two frames or a video, got {} files", asked.files().size());
  }
  return asked.files().size() == 2 ? flow_of_frames(parts, request, asked, served)
                                   : flow_of_video(parts, request, asked, served);
}

}  // namespace

void add_flow_routes(Router& router, ServerParts& parts) {
  add_route(router, parts, "POST", "/flow", Effort::kModel,
            [&parts](const HttpRequest& request) { return flow(parts, request); });
}

}  // namespace perceiver
