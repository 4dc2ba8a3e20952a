#include "perceiver/tasks/arrays/ask.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/error.h"
#include "perceiver/core/text.h"
#include "perceiver/tasks/arrays/examples.h"
#include "perceiver/tasks/arrays/run.h"
#include "perceiver/weights/arrays.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr int64_t kExamplesAtOnce = 32;

bool has_all(const TensorMap& arrays, const Names& names) {
  return std::ranges::all_of(names, [&](const std::string& name) { return arrays.contains(name); });
}

// A file that is in memory, or lies where its name says.
ArrayTables tables_in(const File& file, const Names& needed, const ArraysConfig& config) {
  if (file.bytes.empty()) return read_tables({file.name}, needed, config, window_of(config));
  return ArrayTables({table_of(file.name, decode_arrays(file), needed)});
}

// What the inputs need, and what queries are made of where a table of columns has it: those at
// places ask of arrays that tables do not hold.
Names encoded_arrays(const ArraysConfig& config, const File& file) {
  Names needed = input_arrays(config);
  for (const auto& [name, query] : config.queries) {
    if (!is_csv(file.name) || query.like.empty()) continue;
    for (const std::string& array : asking_arrays(config, name)) needed.push_back(array);
  }
  return needed;
}

// Places to ask at: the arrays of those queries that find theirs in the file.
ArrayTables places_in(const std::string& path, const ArraysConfig& config) {
  TensorMap arrays = read_arrays(path);
  Names needed, wanted;
  for (const auto& [name, query] : config.queries) {
    if (query.at.empty()) continue;
    const Names asking = asking_arrays(config, name);
    Names& list = has_all(arrays, asking) ? needed : wanted;
    list.insert(list.end(), asking.begin(), asking.end());
  }
  if (wanted.empty() && needed.empty()) fail("--at {}: no query of the model asks at places", path);
  if (needed.empty()) {
    fail("--at {}: has not the arrays that queries ask at: '{}'", path, fmt::join(wanted, "', '"));
  }
  return ArrayTables({table_of(path, std::move(arrays), needed)});
}

// The arrays of a query's fields, of all rows of a table.
Example asked_of(const ExampleMaker& maker, const ArrayTables& tables, const std::string& name) {
  std::vector<Example> examples;
  for (int64_t i = 0; i < tables.size(); ++i) {
    const auto [table, row] = tables.at(i);
    examples.push_back(maker.asked(table, row, name));
  }
  return stack(examples);
}

// What a query is made of, and how its outputs lie.
struct Asked {
  Example fields = {};
  std::vector<int64_t> axes = {};
};

bool has_sources(const ArrayQuery& query) {
  return std::ranges::any_of(query.parts, [](const ArrayField& part) { return part.has_source(); });
}

Asked stored(const LatentsFile& file, const std::string& name, const ArrayQuery& query,
             const QueryLayout& layout) {
  const std::string key = array_key("queries", name, "axes");
  const auto axes = file.geometry.find(key);
  if (axes == file.geometry.end()) fail("{}: its metadata have no '{}'", file.name, key);
  Asked asked{.axes = axes->second};
  const int64_t rows = file.latents().size(0);
  for (size_t i = 0; i < query.parts.size(); ++i) {
    const FieldLayout& part = layout.elements.parts[i];
    if (!query.parts[i].has_source()) continue;
    const bool category = part.kind == FieldKind::kCategory;
    const std::string field = array_key("queries", name, i);
    const Tensor array =
        required_array(file, field, category ? at::kLong : at::kFloat, {rows, kAny, part.width});
    int64_t places = query.like.empty() ? 1 : layout.elements.elements;
    for (const int64_t size : query.like.empty() ? asked.axes : std::vector<int64_t>()) {
      places = size > 0 && size <= array.size(1) ? places * size : 0;
    }
    if (array.numel() == 0 || array.size(1) != places) {
      fail("{}: '{}' has {} places, its metadata say [{}]", file.name, field, array.size(1),
           fmt::join(asked.axes, ", "));
    }
    if (category &&
        (array.lt(0).any().item<bool>() || array.gt(query.parts[i].size).any().item<bool>())) {
      fail("{}: '{}' has categories that the model does not know", file.name, field);
    }
    asked.fields[field] = array;
  }
  return asked;
}

// One who has everything that makes up its queries by itself asks as it is.
std::optional<Asked> asked_by(const std::string& name, const ArraysConfig& config,
                              const ArraysLayout& layout, const LatentsFile& file,
                              const std::optional<ArrayTables>& places) {
  const ArrayQuery& query = config.queries.at(name);
  if (!has_sources(query)) return Asked{.axes = asked_axes(name, query, config)};
  if (places && !query.at.empty()) {
    const ArrayTable& table = places->tables().front();
    if (has_all(table.arrays, asking_arrays(config, name))) {
      Asked asked{asked_of(ExampleMaker(config), *places, name), output_axes(config, name, table)};
      const int64_t rows = file.latents().size(0);
      for (auto& [field, array] : asked.fields) {
        if (array.size(0) == 1) array = array.expand({rows, -1, -1});
        if (array.size(0) == rows) continue;
        fail("{}: has {} examples, the latents are of {}; give as many, or one for all", table.name,
             array.size(0), rows);
      }
      return asked;
    }
  }
  if (!file.geometry.contains(array_key("queries", name, "axes"))) return {};
  return stored(file, name, query, layout.queries.at(name));
}

Tensor outputs_of(ArraysModelImpl& model, const LatentsFile& file, const std::string& name,
                  const Asked& asked) {
  std::vector<Tensor> outputs;
  const int64_t rows = file.latents().size(0);
  for (int64_t begin = 0; begin < rows; begin += kExamplesAtOnce) {
    const int64_t count = std::min(kExamplesAtOnce, rows - begin);
    Example batch;
    for (const auto& [field, array] : asked.fields) batch[field] = array.narrow(0, begin, count);
    const Tensor latents = to_model(model, file.latents().narrow(0, begin, count));
    outputs.push_back(
        model.decode(latents, to_model(model, batch), {name}).at(name).to(at::kCPU, at::kFloat));
  }
  return at::cat(outputs);
}

Json nested(const Tensor& x) {
  if (x.dim() == 0) return x.item<double>();
  Json list = Json::array();
  for (const Tensor& one : x.unbind(0)) list.push_back(nested(one));
  return list;
}

// "cat 0.91", or the first numbers.
std::string first_answer(const Tensor& values, const ArrayQuery& query) {
  constexpr int64_t kShown = 4;
  const Tensor first = values[0].flatten();
  if (is_class(query.loss) && first.numel() == query.classes) {
    const int64_t best = first.argmax().item<int64_t>();
    const std::string name =
        query.names.empty() ? fmt::format("class {}", best) : query.names[best];
    return fmt::format("{} {:.3f}", name, first[best].item<double>());
  }
  std::string text;
  for (int64_t i = 0; i < std::min(kShown, first.numel()); ++i) {
    text += fmt::format("{}{:.4g}", i > 0 ? " " : "", first[i].item<double>());
  }
  return text + (first.numel() > kShown ? " …" : "");
}

}  // namespace

Example first_example(const ArraysConfig& config, const File& file) {
  const ArrayTables tables = tables_in(file, input_arrays(config), config);
  const auto [table, row] = tables.at(0);
  return stack({ExampleMaker(config).inputs(table, row)});
}

void encode_arrays(ArraysModelImpl& model, const ArraysConfig& config, const File& file,
                   LatentsFile& latents) {
  const ArrayTables tables = tables_in(file, encoded_arrays(config, file), config);
  const ExampleMaker maker(config);
  std::vector<Tensor> parts;
  for (int64_t begin = 0; begin < tables.size(); begin += kExamplesAtOnce) {
    std::vector<Example> examples;
    for (int64_t i = begin; i < std::min(begin + kExamplesAtOnce, tables.size()); ++i) {
      const auto [table, row] = tables.at(i);
      examples.push_back(maker.inputs(table, row));
    }
    parts.push_back(model.encode(to_model(model, stack(examples))).to(at::kCPU, at::kFloat));
  }
  latents.arrays = {{"latents", at::cat(parts)}};
  const ArrayTable& first = tables.tables().front();
  for (const auto& [name, query] : config.queries) {
    if (!has_sources(query) || !has_all(first.arrays, asking_arrays(config, name))) continue;
    latents.arrays.merge(asked_of(maker, tables, name));
    latents.geometry[array_key("queries", name, "axes")] = output_axes(config, name, first);
  }
}

Answer answer_arrays(ArraysModelImpl& model, const ArraysConfig& config, const LatentsFile& file,
                     const Query& query) {
  const ArraysLayout& layout = model.layout();
  std::optional<ArrayTables> places;
  if (!query.at.empty()) places.emplace(places_in(query.at, config));
  Answer answer;
  std::vector<std::vector<std::string>> rows = {{"query", "output", "of the first example"}};
  Names unasked;
  for (const auto& [name, asking] : config.queries) {
    const std::optional<Asked> asked = asked_by(name, config, layout, file, places);
    if (!asked) {
      unasked.push_back(fmt::format("'queries.{}' needs the arrays '{}'", name,
                                    fmt::join(asking_arrays(config, name), "', '")));
      continue;
    }
    const size_t before = answer.arrays.size();
    add_outputs(config, name, outputs_of(model, file, name, *asked), asked->axes, answer.arrays);
    for (size_t i = before; i < answer.arrays.size(); ++i) {
      const auto& [output, values] = answer.arrays[i];
      answer.json[output] = {{"shape", values.sizes().vec()}, {"values", nested(values)}};
      rows.push_back({output, to_string(values.sizes()), first_answer(values, asking)});
    }
  }
  const std::string missing =
      fmt::format("{}; name a file that has them with --at", fmt::join(unasked, ", "));
  if (answer.arrays.empty()) fail("{}: {}", file.name, missing);
  if (!unasked.empty()) query.hooks.tell(fmt::format("{}: {}", file.name, missing));
  answer.text = table(rows);
  return answer;
}

std::vector<InputView> array_views(const ArraysConfig& config) {
  const ArraysLayout layout = layout_of(config);
  std::vector<InputView> views;
  int64_t first = 0;
  for (const auto& [name, input] : config.inputs) {
    const ElementsLayout& elements = layout.inputs.at(name).elements;
    InputView view{.modality = name, .first = first, .grid = elements.grid};
    if (view.grid.empty() || view.grid.size() > 3) view.grid = {elements.elements};
    for (size_t i = 0; i < input.parts.size() && input.element == ElementKind::kColumn; ++i) {
      const int64_t width = elements.parts[i].width;
      const ArraySource source = read_source(input.parts[i].source(), "");
      const std::string array = source.array.empty() ? arrays_of(name, input)[0] : source.array;
      for (int64_t k = 0; k < width; ++k) {
        const bool one = width == 1 && source.begin == 0 && !source.array.empty();
        view.texts.push_back(one ? array + " " : fmt::format("{}[{}] ", array, source.begin + k));
      }
    }
    views.push_back(std::move(view));
    first += elements.elements;
  }
  return views;
}

}  // namespace perceiver
