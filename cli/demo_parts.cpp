#include <ATen/ATen.h>
#include <fmt/format.h>

#include "cli/attend_maps.h"
#include "cli/autoencoder.h"
#include "cli/classes.h"
#include "cli/demo.h"
#include "cli/fill_report.h"
#include "cli/flow_estimator.h"
#include "cli/flow_report.h"
#include "cli/format.h"
#include "perceiver/core/error.h"
#include "perceiver/core/lines.h"
#include "perceiver/media/image.h"
#include "perceiver/media/paint.h"
#include "perceiver/tasks/optical_flow/draw.h"
#include "perceiver/zoo/tokenizer.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int64_t kTop = 3;       // words and classes that are named
constexpr int64_t kClusters = 3;  // groups of latents that are drawn

// What the query for the class sees; of a model without classes, what groups of latents look at.
fs::path draw_attention(Task& task, const Example& inputs, bool has_classes, const fs::path& path) {
  const std::vector<InputView> views = task.views(inputs);
  const InputView& view = shown_view(views);
  const Looks looks = look(task, inputs, has_classes);
  const Groups groups = has_classes
                            ? class_query(looks)
                            : clustered_latents(looks, view, {.clusters = kClusters, .seed = 0});
  const Tensor maps = mix_attention(looks.encoder, groups.weights);
  draw_maps(view, maps_over(view, groups, maps), path.string(), /*kept_clean=*/true);
  return path;
}

std::string percent(const Json& item) {
  return fmt::format("{} {:.0f} %", item["name"].get<std::string>(),
                     100.0 * item["probability"].get<double>());
}

}  // namespace

DemoPart demo_words(Session& session, const fs::path& folder) {
  auto& language = model_as<LanguageImpl>(session.model, "demo", "language");
  const WordTokens tokens =
      word_tokens(find_tokenizer(session.model, language.config().vocabulary_size));
  const MaskedModel model = masked_model(language);
  DemoPart part{.text =
                    "words for each [MASK], and the probability of a byte of them (geometric "
                    "mean)\n",
                .json = Json::array(),
                .written = {}};
  std::string filled_texts;
  for (const std::string& text : lines_of(read_file(shipped("samples/sentences.txt")).bytes)) {
    const FilledText filled = fill(text, tokens, model, {.top = kTop});
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
  const Example inputs = session.model.task->read(std::span(&first, 1));
  part.written = {folder / "filled.txt",
                  draw_attention(*session.model.task, inputs, false, folder / "attention.html")};
  return part;
}

DemoPart demo_pictures(Session& session, const fs::path& folder) {
  Task& task = *session.model.task;
  DemoPart part{.text = "", .json = Json::array(), .written = {}};
  std::vector<std::vector<std::string>> rows = {{"picture", "likeliest", "second", "third"}};
  for (const fs::path& path : images_in(shipped("samples/pictures"))) {
    const File file = read_file(path);
    const Example inputs = task.read(std::span(&file, 1));
    const Json top = likeliest_classes(session.model, task.classify(inputs).mean(0).cpu(), kTop);
    rows.push_back({path.filename().string()});
    for (const Json& item : top) rows.back().push_back(percent(item));
    part.written.push_back(
        draw_attention(task, inputs, true, folder / path.stem().concat("-attention.png")));
    part.json.push_back(
        {{"file", path.string()}, {"top", top}, {"attention", part.written.back().string()}});
  }
  part.text = table(rows);
  return part;
}

// Both frames, and below them the flow found and the true one in the same colours.
static Tensor motion_picture(const std::vector<Frame>& frames, const FlowField& found,
                             const FlowField& truth) {
  const double longest = std::max(largest_flow(truth), 1.0);
  return contact_sheet({frames[0].pixels, frames[1].pixels, flow_colours(found, longest),
                        with_legend(flow_colours(truth, longest))},
                       2);
}

DemoPart demo_motion(Session& session, const fs::path& folder) {
  DemoPart part{.text = "", .json = Json::array(), .written = {}};
  std::vector<std::vector<std::string>> rows = {
      {"pair", "pixels", "error of the flow", "of no motion", "time"}};
  for (const fs::path& pair : sorted_entries(shipped("samples/flow"))) {
    FrameSource source({pair.string()});
    const GroundTruth known((pair / "truth").string(), source);
    const std::vector<Frame> frames = {*source.next(), *source.next()};
    const FlowField truth = *known.of(frames[0]);
    FlowEstimator estimator(session, source, {TilePlacement::kEven, /*both_ways=*/false});
    const FlowEstimate found = estimator(frames[0], frames[1]);

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

DemoPart demo_clips(Session& session, const fs::path& folder) {
  auto& model = model_as<MultimodalImpl>(session.model, "demo", "multimodal");
  const fs::path sample = shipped("samples/clip.avi");
  ChunkReader clip(read_file(sample), model.config());
  VideoWriter writer(folder / "clip.mp4", autoencoded_format(model.config()));
  const Autoencoding done = autoencode_chunks(model, clip, writer, {});
  writer.finish();
  const Json top = likeliest_classes(session.model, done.label / done.num_chunks, kTop);
  std::vector<std::vector<std::string>> rows = {
      {"clip", "video PSNR", "audio PSNR", "label"},
      {sample.filename().string(), fmt::format("{:.1f} dB", done.video.decibels()),
       fmt::format("{:.1f} dB", done.audio.decibels()), percent(top[0])}};
  return {.text = table(rows),
          .json = {{{"file", sample.string()},
                    {"psnr", {{"video", done.video.decibels()}, {"audio", done.audio.decibels()}}},
                    {"top", top},
                    {"output", writer.path().string()}}},
          .written = {writer.path()}};
}

}  // namespace perceiver
