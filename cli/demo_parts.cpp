#include <fmt/format.h>

#include "cli/demo.h"
#include "cli/demo_html.h"
#include "perceiver/core/lines.h"
#include "perceiver/core/text.h"
#include "perceiver/media/image.h"
#include "perceiver/tasks/attend.h"
#include "perceiver/tasks/attend_draw.h"
#include "perceiver/tasks/classify.h"

namespace perceiver {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

fs::path draw_attention(Model& model, const File& file, bool has_classes, const fs::path& path) {
  constexpr int64_t kClusters = 3;  // groups of latents that are drawn
  const AttendMaps maps =
      attend(model, std::span(&file, 1), {.query = has_classes, .clusters = kClusters});
  draw_maps(maps.shown(), maps.drawn(), path.string());
  return path;
}

std::string percent(const RankedClass& one) {
  return fmt::format("{} {:.0f} %", one.name, 100.0 * one.probability);
}

DemoPart demo_words(Model& model, const fs::path& folder) {
  DemoPart part{.text = "words for each [MASK], and their probability\n",
                .json = Json::array(),
                .html = "<ul class=\"words\">\n",
                .written = {}};
  std::string filled_texts;
  for (const std::string& text : lines_of(read_file(shipped("samples/sentences.txt")).bytes)) {
    const FilledText filled = fill(model, text, {.top = kDemoTop});
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
    part.html += filled_html(filled);
  }
  part.html += "</ul>\n";
  write_file(folder / "filled.txt", filled_texts);
  const File first{"the first text", filled_texts.substr(0, filled_texts.find('\n'))};
  part.written = {folder / "filled.txt",
                  draw_attention(model, first, false, folder / "attention.html")};
  return part;
}

DemoPart demo_pictures(Model& model, const fs::path& folder) {
  DemoPart part{
      .text = "", .json = Json::array(), .html = "<div class=\"cards\">\n", .written = {}};
  std::vector<std::vector<std::string>> rows = {{"picture", "likeliest", "second", "third"}};
  for (const fs::path& path : images_in(shipped("samples/pictures"))) {
    const File file = read_file(path);
    const std::vector<RankedClass> top = classify(model, file, kDemoTop);
    rows.push_back({path.filename().string()});
    for (const RankedClass& one : top) rows.back().push_back(percent(one));
    part.written.push_back(
        draw_attention(model, file, true, folder / path.stem().concat("-attention.png")));
    part.json.push_back({{"file", path.string()},
                         {"top", to_json(top)},
                         {"attention", part.written.back().string()}});
    const std::string name = path.stem().string();
    part.html +=
        figure_html(fmt::format("<img src=\"{}\" alt=\"{}\">", data_uri(part.written.back()), name),
                    fmt::format("drawn: {}", name) + bars_html(top));
  }
  part.html += "</div>\n";
  part.text = table(rows);
  return part;
}

}  // namespace perceiver
