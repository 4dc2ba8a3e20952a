#include "cli/demo_html.h"

#include <fmt/format.h>

#include "perceiver/core/base64.h"
#include "perceiver/core/file.h"
#include "perceiver/core/markup.h"
#include "perceiver/media/image.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

std::string mime_type(const fs::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".wav") return "audio/wav";
  return ending == ".mp4" ? "video/mp4" : "image/png";
}

std::string bar(const std::string& name, double probability) {
  return fmt::format(
      "<li><span>{}</span><meter min=\"0\" max=\"100\" value=\"{:.1f}\"></meter><b>{:.0f} %</b>"
      "</li>\n",
      escaped(name), 100 * probability, 100 * probability);
}

}  // namespace

std::string data_uri(const std::string& type, std::string_view bytes) {
  return fmt::format("data:{};base64,{}", type, base64_text(bytes));
}

std::string data_uri(const fs::path& file) {
  return data_uri(mime_type(file), read_file(file).bytes);
}

std::string image_html(const Tensor& pixels, const std::string& meaning) {
  return fmt::format("<img src=\"{}\" alt=\"{}\">", data_uri("image/png", encode_png(pixels)),
                     escaped(meaning));
}

std::string figure_html(const std::string& inside, const std::string& caption) {
  return fmt::format("<figure>{}\n<figcaption>{}</figcaption></figure>\n", inside, caption);
}

std::string bars_html(std::span<const RankedClass> classes) {
  std::string html = "<ol class=\"bars\">\n";
  for (const RankedClass& one : classes) html += bar(one.name, one.probability);
  return html + "</ol>\n";
}

std::string filled_html(const FilledText& filled) {
  std::string html = "<li><p>";
  for (const TextPiece& piece : shown_pieces(filled)) {
    html += piece.filled ? "<mark>" + escaped(piece.text) + "</mark>" : escaped(piece.text);
  }
  html += "</p>\n";
  for (const FilledMask& mask : filled.masks) {
    html += "<p class=\"others\">";
    for (const Word& word : mask.words) {
      html += fmt::format("<span>{} <b>{:.0f} %</b></span> ", escaped(word.text),
                          100 * probability(word));
    }
    html += "</p>\n";
  }
  return html + "</li>\n";
}

}  // namespace perceiver
