#include "perceiver/tasks/attend_draw.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <filesystem>

#include "perceiver/core/error.h"
#include "perceiver/core/file.h"
#include "perceiver/core/markup.h"
#include "perceiver/media/image.h"
#include "perceiver/media/lettering.h"
#include "perceiver/media/paint.h"
#include "perceiver/media/video.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLeastWidth = 224;  // of a picture in a sheet: smaller ones are enlarged
constexpr int64_t kMostColumns = 8;   // of frames on a sheet

// uint8 [3, H, W], each pixel repeated, so that a 32-pixel picture can be looked at.
Tensor enlarged(const Tensor& picture) {
  const int64_t times = (kLeastWidth + picture.size(2) - 1) / picture.size(2);
  return picture.repeat_interleave(times, 1).repeat_interleave(times, 2);
}

// The weights of the grid at frame `index` of `count`; a picture has one.
Tensor weights_at(const NamedMap& map, int64_t index, int64_t count) {
  if (map.weights.dim() == 2) return map.weights;
  return map.weights[index * map.weights.size(0) / count];
}

// The frame alone, then under each map, each with its name.
std::vector<Tensor> painted(const InputView& view, const std::vector<NamedMap>& maps,
                            int64_t index) {
  const Tensor frame = enlarged(view.pictures[index]);
  std::vector<Tensor> pictures = {captioned(frame, view.modality)};
  for (const NamedMap& map : maps) {
    const Tensor weights = weights_at(map, index, view.pictures.size(0));
    pictures.push_back(
        captioned(heat_map(frame, weights, map.weights.max().item<double>()), map.name));
  }
  return pictures;
}

void draw_picture(const InputView& view, const std::vector<NamedMap>& maps, const fs::path& path) {
  const int64_t frames = view.pictures.size(0);
  if (frames == 1) {
    const std::vector<Tensor> pictures = painted(view, maps, 0);
    return write_file(path,
                      encode_png(contact_sheet(pictures, std::min<int64_t>(4, pictures.size()))));
  }
  std::vector<Tensor> columns;
  const int64_t count = std::min(frames, kMostColumns);
  for (int64_t i = 0; i < count; ++i) {
    columns.push_back(below(painted(view, maps, i * frames / count), 4));
  }
  write_file(path, encode_png(beside(columns, 4)));
}

void draw_video(const InputView& view, const std::vector<NamedMap>& maps, const fs::path& path) {
  std::optional<VideoWriter> writer;
  for (int64_t i = 0; i < view.pictures.size(0); ++i) {
    const std::vector<Tensor> pictures = painted(view, maps, i);
    const Tensor sheet = contact_sheet(pictures, std::min<int64_t>(4, pictures.size()));
    if (!writer) {
      writer.emplace(path, VideoFormat{.height = sheet.size(1),
                                       .width = sheet.size(2),
                                       .frames_per_second = 5.0});  // slow enough to be watched
    }
    writer->write(sheet);
  }
  writer->finish();
}

std::string html(const InputView& view, const std::vector<NamedMap>& maps) {
  std::string page =
      "<!doctype html>\n<meta charset=\"utf-8\">\n<title>What the latents look at</title>\n"
      "<style>body{font:16px/1.6 monospace;max-width:60em;margin:2em auto}"
      "p{white-space:pre-wrap;overflow-wrap:anywhere}p.about{font-family:sans-serif}</style>\n"
      "<h1>What the latents look at</h1>\n"
      "<p class=\"about\">The text is shown once for each group of latents. The darker a letter's "
      "background, the more of the group's attention it gets; white is none, dark red the most. "
      "Point at a letter for its share of the most.</p>\n";
  for (const NamedMap& map : maps) {
    page += fmt::format("<h2>{}</h2>\n<p>", escaped(map.name));
    for (const Letter& letter : letters(view, map)) {
      const LetterColour c = background(letter.weight);
      page +=
          fmt::format("<span title=\"{:.3f}\" style=\"background:#{:02x}{:02x}{:02x}{}\">{}</span>",
                      letter.weight, c.red, c.green, c.blue,
                      letter.weight > 0.5 ? ";color:#fff" : "", escaped(letter.text));
    }
    page += "</p>\n";
  }
  return page;
}

}  // namespace

// Elements may be single bytes: those of one character are shown together, by the strongest.
std::vector<Letter> letters(const InputView& view, const NamedMap& map) {
  const Tensor weights = map.weights / map.weights.max().clamp_min(1e-30);
  std::vector<Letter> shown;
  for (size_t i = 0; i < view.texts.size(); ++i) {
    const std::string& text = view.texts[i];
    const double weight = weights[static_cast<int64_t>(i)].item<double>();
    const bool continues = !text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0) == 0x80;
    if (continues && !shown.empty()) {
      shown.back().text += text;
      shown.back().weight = std::max(shown.back().weight, weight);
    } else {
      shown.push_back({text, weight});
    }
  }
  return shown;
}

LetterColour background(double weight) {
  const auto between = [&](int from, int to) {
    return static_cast<int>(from + weight * (to - from));
  };
  return {between(255, 165), between(255, 15), between(255, 21)};
}

void check_picture_name(const std::string& output, const InputView& view) {
  const fs::path path = output;
  if (path.extension() == ".npz" || path.extension() == ".safetensors") return;
  if (!view.pictures.defined()) {
    if (output.empty() || (path.extension() == ".html" && !view.texts.empty())) return;
    if (view.texts.empty()) {
      fail("{}: there is nothing to draw the attention on; it is written as .npz or .safetensors",
           output);
    }
    fail("{}: what a model reads is drawn as .html", output);
  }
  if (output.empty() || path.extension() == ".png") return;
  if (has_video_ending(path) && view.pictures.size(0) > 1) return;
  fail("{}: expected a name ending in .png{}", output,
       view.pictures.size(0) > 1 ? ", or a video's" : "");
}

std::string draw_maps(const InputView& view, const std::vector<NamedMap>& maps,
                      const std::string& output) {
  if (!view.pictures.defined()) {
    if (!output.empty()) write_file(output, html(view, maps));
    return output;
  }
  const fs::path path = output.empty() ? "attend.png" : output;
  if (path.extension() == ".png") {
    draw_picture(view, maps, path);
  } else {
    draw_video(view, maps, path);
  }
  return path;
}

}  // namespace perceiver
