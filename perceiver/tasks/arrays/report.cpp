#include "perceiver/tasks/arrays/report.h"

#include <fmt/ranges.h>

#include "perceiver/core/text.h"

namespace perceiver {
namespace {

std::string with_examples(const std::vector<int64_t>& sizes) {
  return sizes.empty() ? "[examples]" : fmt::format("[examples, {}]", fmt::join(sizes, ", "));
}

std::string array_text(const std::vector<std::string>& names, std::vector<int64_t> shape) {
  if (names.size() == 1) return fmt::format("{} {}", names[0], with_examples(shape));
  const std::string rest = names.size() > 2 ? " …" : "";
  return fmt::format("{}, {}{} {}", names[0], names[1], rest, with_examples(shape));
}

// "number : 12 + position fourier 33"
std::vector<std::string> field_texts(const std::vector<ArrayField>& parts,
                                     const ElementsLayout& layout) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < parts.size(); ++i) {
    const ArrayField& field = parts[i];
    const char* kind = !field.number.empty()     ? "number"
                       : !field.fourier.empty()  ? "fourier"
                       : !field.category.empty() ? "category"
                                                 : "position";
    const std::string& what = field.has_source() ? field.source() : field.position;
    texts.push_back(fmt::format("{} {} ({})", kind, what, layout.parts[i].channels));
  }
  return texts;
}

std::string elements_text(const ElementsLayout& layout, ElementKind kind) {
  if (kind == ElementKind::kColumn) return fmt::format("{} columns", layout.elements);
  if (layout.grid.size() < 2) return grouped(layout.elements);
  return fmt::format("{} = {}", grouped(layout.elements), fmt::join(layout.grid, " x "));
}

std::string asker(const ArrayQuery& query) {
  if (!query.at.empty()) return fmt::format("at {} {}", query.at, with_examples(query.shape));
  if (!query.like.empty()) return "like " + query.like;
  return query.learned > 1 ? "learned" : "one learned";
}

// What comes back of each example.
std::vector<int64_t> output_shape(const ArrayQuery& query, const QueryLayout& layout,
                                  const std::vector<int64_t>& axes) {
  std::vector<int64_t> shape = axes;
  shape.push_back(is_class(query.loss) ? query.classes : layout.target.back());
  if (query.loss == ArrayLoss::kQuantile) shape.push_back(std::ssize(query.quantiles));
  return shape;
}

}  // namespace

std::string arrays_report(const ArraysConfig& config) {
  const ArraysLayout layout = layout_of(config);
  std::vector<std::vector<std::string>> inputs = {{"input", "array", "elements", "channels"}};
  std::string made_of;
  for (const auto& [name, input] : config.inputs) {
    const InputLayout& one = layout.inputs.at(name);
    const std::string seen =
        one.seen < one.elements.elements ? fmt::format(" ({} in training)", grouped(one.seen)) : "";
    inputs.push_back({name, array_text(arrays_of(name, input), input.shape),
                      elements_text(one.elements, input.element) + seen,
                      std::to_string(one.elements.channels)});
    made_of += fmt::format("  an element of {}: {}\n", name,
                           fmt::join(field_texts(input.parts, one.elements), ", "));
  }
  std::vector<std::vector<std::string>> queries = {
      {"query", "asked", "queries", "channels", "target", "loss", "head", "output"}};
  for (const auto& [name, query] : config.queries) {
    const QueryLayout& one = layout.queries.at(name);
    queries.push_back({name, asker(query), grouped(one.elements.elements),
                       std::to_string(one.elements.channels),
                       array_text(targets_of(name, query, config), query.target_shape),
                       std::string(to_word(query.loss)), std::to_string(one.outputs),
                       with_examples(output_shape(query, one, asked_axes(name, query, config)))});
    if (query.parts.empty()) continue;
    made_of += fmt::format("  a query of {}: {}\n", name,
                           fmt::join(field_texts(query.parts, one.elements), ", "));
  }
  return table(inputs) + "\n" + table(queries) + "\nchannels are of\n" + made_of;
}

nlohmann::ordered_json arrays_json(const ArraysConfig& config) {
  const ArraysLayout layout = layout_of(config);
  nlohmann::ordered_json json = {{"inputs", nlohmann::ordered_json::object()},
                                 {"queries", nlohmann::ordered_json::object()}};
  for (const auto& [name, input] : config.inputs) {
    const InputLayout& one = layout.inputs.at(name);
    json["inputs"][name] = {
        {"arrays", arrays_of(name, input)},  {"shape", input.shape},
        {"elements", one.elements.elements}, {"elements_in_training", one.seen},
        {"channels", one.elements.channels}, {"fields", field_texts(input.parts, one.elements)}};
  }
  for (const auto& [name, query] : config.queries) {
    const QueryLayout& one = layout.queries.at(name);
    json["queries"][name] = {{"queries", one.elements.elements},
                             {"queries_in_training", one.asked},
                             {"channels", one.elements.channels},
                             {"fields", field_texts(query.parts, one.elements)},
                             {"targets", targets_of(name, query, config)},
                             {"target_shape", query.target_shape},
                             {"loss", to_word(query.loss)},
                             {"head", one.outputs},
                             {"output", output_shape(query, one, asked_axes(name, query, config))}};
  }
  return json;
}

}  // namespace perceiver
