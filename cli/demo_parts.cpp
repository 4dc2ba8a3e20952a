#include <ATen/ATen.h>
#include <fmt/format.h>

#include "cli/demo.h"
#include "perceiver/core/lines.h"
#include "perceiver/core/text.h"
#include "perceiver/media/image.h"
#include "perceiver/media/paint.h"
#include "perceiver/tasks/attend.h"
#include "perceiver/tasks/classify.h"
#include "perceiver/tasks/language/fill_texts.h"
#include "perceiver/tasks/multimodal/autoencode.h"
#include "perceiver/tasks/optical_flow/draw.h"
#include "perceiver/tasks/optical_flow/estimate.h"
#include "perceiver/tasks/optical_flow/frames.h"
#include "perceiver/tasks/optical_flow/measures.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int64_t kTop = 3;       // words and classes that are named
constexpr int64_t kClusters = 3;  // groups of latents that are drawn

// What the query for the class sees; of a model without classes, what groups of latents look at.
fs::path draw_attention(Model& model, const File& file, bool has_classes, const fs::path& path) {
  const AttendMaps maps =
      attend(model, std::span(&file, 1), {.query = has_classes, .clusters = kClusters});
  draw_maps(maps.shown(), maps.drawn(), path.string());
  return path;
}

std::string percent(const RankedClass& one) {
  return fmt::format("{} {:.0f} %", one.name, 100.0 * one.probability);
}

}  // namespace

DemoPart demo_words(Model& model, const fs::path& folder) {
  DemoPart part{.text = "words for each [MASK], and their probability\n",
                .json = Json::array(),
                .written = {}};
  std::string filled_texts;
  for (const std::string& text : lines_of(read_file(shipped("samples/sentences.txt")).bytes)) {
    const FilledText filled = fill(model, text, {.top = kTop});
    filled_texts += filled.text + "\n";
    part.text += fmt::format("  {}\n", text);
    for (const FilledMask& mask : filled.masks) {
      part.text += "     ";
      for (const Word& word : mask.words) {
        part.text += fmt::format(" {} {:.2f} ", word.text, probability(word));
      }
      part.text.back() = '\n';
    }
    part.json.push_back(filled_json(text, filled));
  }
  write_file(folder / "filled.txt", filled_texts);
  const File first{"the first text", filled_texts.substr(0, filled_texts.find('\n'))};
  part.written = {folder / "filled.txt",
                  draw_attention(model, first, false, folder / "attention.html")};
  return part;
}

DemoPart demo_pictures(Model& model, const fs::path& folder) {
  DemoPart part{.text = "", .json = Json::array(), .written = {}};
  std::vector<std::vector<std::string>> rows = {{"picture", "likeliest", "second", "third"}};
  for (const fs::path& path : images_in(shipped("samples/pictures"))) {
    const File file = read_file(path);
    const std::vector<RankedClass> top = classify(model, file, kTop);
    rows.push_back({path.filename().string()});
    for (const RankedClass& one : top) rows.back().push_back(percent(one));
    part.written.push_back(
        draw_attention(model, file, true, folder / path.stem().concat("-attention.png")));
    part.json.push_back({{"file", path.string()},
                         {"top", to_json(top)},
                         {"attention", part.written.back().string()}});
  }
  part.text = table(rows);
  return part;
}

// Both frames, and below them the flow found and the true one in the same colours.
static Tensor motion_picture(const std::vector<Frame>& frames, const FlowField& found,
                             const FlowField& truth) {
  const double longest = std::max(largest_flow(truth), 1.0);
  return contact_sheet({frames[0].pixels, frames[1].pixels, flow_colours(found, longest),
                        with_legend(flow_colours(truth, longest), longest)},
                       2);
}

DemoPart demo_motion(Model& model, const fs::path& folder) {
  DemoPart part{.text = "", .json = Json::array(), .written = {}};
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
    write_file(picture, encode_png(motion_picture(frames, found.flow, truth)));
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
  }
  part.text = table(rows);
  return part;
}

DemoPart demo_clips(Model& model, const fs::path& folder) {
  const fs::path sample = shipped("samples/clip.avi");
  const Autoencoded done = autoencode(model, read_file(sample), folder / "clip.mp4", {.top = kTop});
  const Json psnr = {{"video", *done.video_psnr}, {"audio", *done.audio_psnr}};
  std::vector<std::vector<std::string>> rows = {
      {"clip", "video PSNR", "audio PSNR", "label"},
      {sample.filename().string(), fmt::format("{:.1f} dB", *done.video_psnr),
       fmt::format("{:.1f} dB", *done.audio_psnr), percent(done.top[0])}};
  return {.text = table(rows),
          .json = {{{"file", sample.string()},
                    {"psnr", psnr},
                    {"top", to_json(done.top)},
                    {"output", done.output.string()}}},
          .written = {done.output}};
}

}  // namespace perceiver
