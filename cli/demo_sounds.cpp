#include <ATen/ATen.h>
#include <fmt/format.h>

#include "cli/demo.h"
#include "cli/demo_html.h"
#include "perceiver/core/markup.h"
#include "perceiver/core/text.h"
#include "perceiver/media/image.h"
#include "perceiver/media/paint.h"
#include "perceiver/media/sound.h"
#include "perceiver/modalities/audio.h"
#include "perceiver/tasks/classify.h"
#include "perceiver/tasks/multimodal/autoencode.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// How strong each pitch is at each time, from left to right, low pitches below -> uint8 [3, H, W]
Tensor spectrogram(const File& file) {
  constexpr int64_t kHops = 120, kEnergies = 48, kPixels = 3;
  constexpr double kQuietest = 1e-7;
  const Sound sound = decode_sound(file);
  const int64_t hop = std::max<int64_t>(1, sound.samples.size(1) / kHops);
  const MelConfig mel{.samples_per_second = sound.samples_per_second,
                      .window_samples = 256,
                      .hop_samples = hop,
                      .num_energies = kEnergies,
                      .low_hz = 50.0,
                      .high_hz = static_cast<double>(sound.samples_per_second) / 2,
                      .log_offset = kQuietest};
  const Tensor samples = mono(sound).samples.narrow(1, 0, sound.samples.size(1) / hop * hop);
  const Tensor strength = log_mel_spectrogram(samples, mel)[0].t().flip(0);
  const Tensor shares =
      (strength - strength.min()) / (strength.max() - strength.min()).clamp_min(1e-9);
  const Tensor colours = heat_colours(shares);
  return colours.repeat_interleave(kPixels, 1).repeat_interleave(kPixels, 2);
}

}  // namespace

DemoPart demo_sounds(Model& model, const fs::path& folder) {
  DemoPart part{
      .text = "", .json = Json::array(), .html = "<div class=\"cards\">\n", .written = {}};
  std::vector<std::vector<std::string>> rows = {{"sound", "likeliest", "second", "third"}};
  for (const fs::path& path : sorted_entries(shipped("samples/digits"))) {
    const File file = read_file(path);
    const std::vector<RankedClass> top = classify(model, file, kDemoTop);
    rows.push_back({path.filename().string()});
    for (const RankedClass& one : top) rows.back().push_back(percent(one));
    const std::string name = path.stem().string();
    part.written.push_back(folder / (name + ".png"));
    const Tensor picture = spectrogram(file);
    write_file(part.written.back(), encode_png(picture));
    part.json.push_back({{"file", path.string()},
                         {"top", to_json(top)},
                         {"spectrogram", part.written.back().string()}});
    part.html += figure_html(image_html(picture, "spectrogram of " + name) +
                                 fmt::format("<audio controls src=\"{}\"></audio>", data_uri(path)),
                             fmt::format("&ldquo;{}&rdquo;", name) + bars_html(top));
  }
  part.text = table(rows);
  part.html += "</div>\n";
  return part;
}

DemoPart demo_clips(Model& model, const fs::path& folder) {
  const fs::path sample = shipped("samples/clip.avi");
  const Autoencoded done =
      autoencode(model, read_file(sample), folder / "clip.mp4", {.top = kDemoTop});
  const Json psnr = {{"video", *done.video_psnr}, {"audio", *done.audio_psnr}};
  std::vector<std::vector<std::string>> rows = {
      {"clip", "video PSNR", "audio PSNR", "label"},
      {sample.filename().string(), fmt::format("{:.1f} dB", *done.video_psnr),
       fmt::format("{:.1f} dB", *done.audio_psnr), percent(done.top[0])}};
  const std::string video =
      fmt::format("<video controls loop muted src=\"{}\"></video>", data_uri(done.output));
  return {.text = table(rows),
          .json = {{{"file", sample.string()},
                    {"psnr", psnr},
                    {"top", to_json(done.top)},
                    {"output", done.output.string()}}},
          .html = figure_html(video,
                              fmt::format("video {:.1f} dB, sound {:.1f} dB; {}", *done.video_psnr,
                                          *done.audio_psnr, escaped(percent(done.top[0])))),
          .written = {done.output}};
}

}  // namespace perceiver
