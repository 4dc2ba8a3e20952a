#include <fmt/format.h>

#include <array>

#include "cli/demo.h"
#include "cli/demo_html.h"
#include "perceiver/core/file.h"
#include "perceiver/core/markup.h"
#include "perceiver/core/text.h"
#include "perceiver/tasks/starcraft/name_types.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int64_t kMapWidth = 172, kMapHeight = 152, kRowHeight = 5;

// A dot for each entity, in the colour of its owner; those left open as rings with what the model
// takes them for, and what they are where that is something else, at the side.
std::string map_of(const Json& state, const NamedState& named) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"100%\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#f4f1ea\"/>\n",
      kMapWidth + 80, kMapHeight);
  const auto colour = [](const Json& entity) {
    constexpr std::array kColours = {"#8a94a6", "#2f6fb3", "#b3432f"};
    return kColours[entity[1].get<size_t>() % kColours.size()];
  };
  for (const Json& entity : state["entities"]) {
    const bool open = entity[0] == kUnknownType;
    svg += fmt::format(
        "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"0.8\"/>\n",
        entity[2].dump(), entity[3].dump(), open ? 2.4 : 1.2, open ? "none" : colour(entity),
        colour(entity));
  }
  for (size_t row = 0; row < named.entities.size(); ++row) {
    const NamedEntity& one = named.entities[row];
    const auto answer = state["answers"][row].get<std::string>();
    const bool right = one.top[0].name == answer;
    const std::string said = percent(one.top[0]) + (right ? "" : ", is a " + answer);
    const Json& entity = state["entities"][static_cast<size_t>(one.entity)];
    const double x = kMapWidth, y = static_cast<double>((2 * row + 1) * kRowHeight);
    svg += fmt::format(
        "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"0.2\"/>\n"
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" font-family=\"sans-serif\">{}</text>\n",
        entity[2].dump(), entity[3].dump(), x, y - 1.5, colour(entity), x + 1, y, kRowHeight,
        escaped(said));
  }
  return svg + "</svg>\n";
}

}  // namespace

DemoPart demo_entities(Model& model, const fs::path& folder) {
  const fs::path sample = shipped("samples/entities.jsonl");
  const Json state = Json::parse(read_file(sample).bytes);
  const NamedState named = name_types(model, sample.string(), kDemoTop).at(0);
  const std::string map = map_of(state, named);
  DemoPart part{.text = "",
                .json = Json::array(),
                .html = figure_html(map, "Dots are what the model was shown, rings what it named."),
                .written = {folder / "map.svg"}};
  write_file(part.written[0], map);
  std::vector<std::vector<std::string>> rows = {{"left open", "likeliest", "second", "third"}};
  for (size_t i = 0; i < named.entities.size(); ++i) {
    const NamedEntity& one = named.entities[i];
    rows.push_back({state["answers"][i].get<std::string>()});
    for (const RankedClass& type : one.top) rows.back().push_back(percent(type));
    part.json.push_back(
        {{"entity", one.entity}, {"answer", rows.back()[0]}, {"top", to_json(one.top)}});
  }
  part.text = table(rows);
  return part;
}

}  // namespace perceiver
