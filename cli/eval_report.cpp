#include "cli/eval_report.h"

#include "perceiver/core/json_text.h"
#include "perceiver/core/text.h"

namespace perceiver {

// "cola.matthews" is the figure matthews of cola; what a class is called may be a number.
static nlohmann::ordered_json& place_of(nlohmann::ordered_json& json, const std::string& figure) {
  const size_t point = figure.find('.');
  if (point == figure.npos) return json[figure];
  return json[figure.substr(0, point)][figure.substr(point + 1)];
}

std::string eval_json(const Evaluation& result, const std::filesystem::path& model,
                      const std::string& output) {
  nlohmann::ordered_json json = {{"model", model.string()}, {"examples", result.examples}};
  for (const auto& [name, value] : result.figures) place_of(json, name) = value;
  if (!output.empty()) json["output"] = output;
  return json_text(json, 2) + "\n";
}

std::string eval_table(const Evaluation& result, const Training& training,
                       const std::string& output) {
  std::vector<std::vector<std::string>> rows = {{"examples", std::to_string(result.examples)}};
  for (const auto& [key, value] : result.figures) {
    const FigureName figure = training.figure_name(key);
    if (!figure.detail) rows.push_back({figure.name, value_text(value, figure.unit)});
  }
  return table(rows) + (output.empty() ? "" : output + "\n");
}

}  // namespace perceiver
