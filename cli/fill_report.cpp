#include "cli/fill_report.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/format.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Word& word) {
  return {{"word", word.text}, {"score", word.score}, {"probability", probability(word)}};
}

std::string highlighted(const FilledText& filled) {
  if (!colours_wanted()) return filled.text;
  std::string text;
  size_t begin = 0;
  for (const FilledMask& mask : filled.masks) {
    const std::string& word = mask.words.front().text;
    text += filled.text.substr(begin, mask.begin - begin) + "\033[1m" + word + "\033[0m";
    begin = mask.begin + word.size();
  }
  return text + filled.text.substr(begin);
}

}  // namespace

double probability(const Word& word) { return std::exp(word.score); }

Json filled_json(const std::string& text, const FilledText& filled) {
  Json masks = Json::array();
  for (const FilledMask& mask : filled.masks) {
    Json item = to_json(mask.words.front());
    item["step"] = mask.step;
    item["candidates"] = Json::array();
    for (const Word& word : mask.words) item["candidates"].push_back(to_json(word));
    masks.push_back(std::move(item));
  }
  return {{"text", text}, {"filled", filled.text}, {"masks", std::move(masks)}};
}

void print_filled(const FilledText& filled, const WordTokens& tokens) {
  fmt::print("{}\n\n", highlighted(filled));
  const std::string what =
      fmt::format("probability of a {} (geometric mean)", tokens.are_bytes ? "byte" : "token");
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < filled.masks.size(); ++i) {
    const FilledMask& mask = filled.masks[i];
    if (filled.masks.size() == 1) {
      rows.push_back({"word", what});
    } else {
      rows.push_back({fmt::format("[MASK] {}, filled as no. {}", i + 1, mask.step), what});
    }
    for (const Word& word : mask.words) {
      rows.push_back({word.text, fmt::format("{:.3g}", probability(word))});
    }
  }
  fmt::print("{}", table(rows));
}

}  // namespace perceiver
