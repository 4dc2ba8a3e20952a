#include <ATen/ATen.h>
#include <fmt/format.h>

#include "cli/demo.h"
#include "cli/demo_html.h"
#include "perceiver/core/text.h"
#include "perceiver/media/image.h"
#include "perceiver/media/paint.h"
#include "perceiver/tasks/optical_flow/draw.h"
#include "perceiver/tasks/optical_flow/estimate.h"
#include "perceiver/tasks/optical_flow/frames.h"
#include "perceiver/tasks/optical_flow/measures.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Flow in the same colours, uint8 [3, H, W].
struct MotionPictures {
  Tensor found, truth;
};

MotionPictures motion_pictures(const FlowField& found, const FlowField& truth) {
  const double longest = std::max(largest_flow(truth), 1.0);
  return {flow_colours(found, longest), with_legend(flow_colours(truth, longest), longest)};
}

// The frames by turns, so that one sees them move.
std::string motion_html(const std::vector<Frame>& frames, const MotionPictures& pictures,
                        double epe, double still) {
  const std::string by_turns = "<div class=\"moving\">" + image_html(frames[1].pixels, "frame 2") +
                               image_html(frames[0].pixels, "frame 1") + "</div>";
  return figure_html(by_turns, "the two frames by turns") +
         figure_html(image_html(pictures.found, "flow found"),
                     fmt::format("what the model found: {:.2f} pixels off on average, where no "
                                 "motion at all would be {:.2f} off",
                                 epe, still)) +
         figure_html(image_html(pictures.truth, "true flow"), "the true motion");
}

}  // namespace

DemoPart demo_motion(Model& model, const fs::path& folder) {
  DemoPart part{
      .text = "", .json = Json::array(), .html = "<div class=\"cards thirds\">\n", .written = {}};
  std::vector<std::vector<std::string>> rows = {
      {"pair", "pixels", "error of the flow", "of no motion", "time"}};
  for (const fs::path& pair : sorted_entries(shipped("samples/flow"))) {
    FrameSource source({pair.string()});
    const GroundTruth known((pair / "truth").string(), source);
    const std::vector<Frame> frames = {*source.next(), *source.next()};
    const FlowField truth = *known.of(frames[0]);
    const FlowEstimate found = FlowEstimator(model, {})(frames[0].pixels, frames[1].pixels);

    const std::string name = pair.filename().string();
    const fs::path picture = folder / (name + ".png"), flo = folder / (name + ".flo");
    const MotionPictures pictures = motion_pictures(found.flow, truth);
    write_file(picture,
               encode_png(contact_sheet(
                   {frames[0].pixels, frames[1].pixels, pictures.found, pictures.truth}, 2)));
    write_file(flo, encode_flo(found.flow.flow));
    part.written.insert(part.written.end(), {picture, flo});
    const double epe = measure_flow(found.flow.flow, truth).epe;
    const double still = measure_flow(at::zeros_like(truth.flow), truth).epe;
    rows.push_back({name, fmt::format("{} x {}", source.width(), source.height()),
                    fmt::format("{:.2f} px", epe), fmt::format("{:.2f} px", still),
                    fmt::format("{:.1f} s", found.seconds)});
    part.json.push_back({{"first", frames[0].name},
                         {"second", frames[1].name},
                         {"epe", epe},
                         {"epe_of_no_motion", still},
                         {"seconds", found.seconds},
                         {"picture", picture.string()},
                         {"flow", flo.string()}});
    part.html += motion_html(frames, pictures, epe, still);
  }
  part.html += "</div>\n";
  part.text = table(rows);
  return part;
}

}  // namespace perceiver
