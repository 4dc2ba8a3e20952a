// What of a config can be checked and filled in without data.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "perceiver/core/names.h"
#include "perceiver/tasks/arrays/layout.h"

namespace perceiver {
namespace {

// Names become those of modules and of arrays in files.
void check_name(const std::string& kind, const std::string& name) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  if (!name.empty() && std::ranges::all_of(name, allowed)) return;
  fail("'{}.{}' is no name, expected letters, digits, '_' and '-'", kind, name);
}

void check_field(const ArrayField& field, const std::string& key) {
  const int kinds = !field.number.empty() + !field.fourier.empty() + !field.category.empty() +
                    !field.position.empty();
  if (kinds != 1) {
    fail("'{}' says {} of number, fourier, category and position, expected one", key, kinds);
  }
  if (field.has_source()) read_source(field.source(), key);
  const bool ranged =
      field.range.empty() || (field.range.size() == 2 && field.range[0] < field.range[1]);
  if (!ranged) {
    fail("'{}.range' is [{}], expected the lowest and the highest number", key,
         fmt::join(field.range, ", "));
  }
}

void check_fields(const std::vector<ArrayField>& parts, const std::string& key) {
  for (size_t i = 0; i < parts.size(); ++i) {
    check_field(parts[i], fmt::format("{}.fields[{}]", key, i));
  }
}

std::vector<std::string> measures_for(ArrayLoss loss) {
  switch (loss) {
    case ArrayLoss::kCrossEntropy:
    case ArrayLoss::kBinary:
      return {"accuracy", "f1"};
    case ArrayLoss::kGaussian:
    case ArrayLoss::kQuantile:
      return {"mae", "rmse", "r2", "coverage", "end_point"};
    default:
      return {"mae", "rmse", "r2", "end_point"};
  }
}

void check_measures(const ArrayQuery& query, const std::string& key) {
  const std::vector<std::string> known = measures_for(query.loss);
  for (const std::string& measure : query.measure) {
    if (std::ranges::find(known, measure) != known.end()) continue;
    fail("'{}.measure' has '{}'{}; with the loss {} there are {}", key, measure,
         did_you_mean(measure, known), to_word(query.loss), fmt::join(known, ", "));
  }
}

void check_quantiles(const ArrayQuery& query, const std::string& key) {
  const std::vector<double>& q = query.quantiles;
  const bool inside = std::ranges::all_of(q, [](double x) { return x > 0.0 && x < 1.0; });
  const bool rise = std::ranges::adjacent_find(q, std::greater_equal()) == q.end();
  if (!q.empty() && inside && rise) return;
  fail("'{}.quantiles' is [{}], expected shares between 0 and 1 that rise", key,
       fmt::join(q, ", "));
}

void check_query(const std::string& name, const ArrayQuery& query, const ArraysConfig& config) {
  const std::string key = "queries." + name;
  const int kinds = (query.learned > 0) + !query.at.empty() + !query.like.empty();
  if (kinds > 1) fail("'{}' says {} of learned, at and like, expected one", key, kinds);
  const bool learned = query.at.empty() && query.like.empty();
  if (learned && !query.parts.empty()) {
    fail("'{}.fields' are for queries 'at' places and 'like' an input; these are learned", key);
  }
  if (learned && query.sample > 0) fail("'{}.sample': learned queries are not sampled", key);
  if (!query.like.empty() && !config.inputs.contains(query.like)) {
    std::vector<std::string> known;
    for (const auto& [input, unused] : config.inputs) known.push_back(input);
    fail("'{}.like' names the input '{}', which there is not{}; there are {}", key, query.like,
         did_you_mean(query.like, known), fmt::join(known, ", "));
  }
  const ArrayInput none, &input = query.like.empty() ? none : config.inputs.at(query.like);
  if (!query.like.empty() && input.element == ElementKind::kColumn) {
    fail("'{}.like' names the input '{}', whose elements are columns; ask for them by 'learned'",
         key, query.like);
  }
  if (query.hidden_only && !(input.hide > 0.0)) {
    fail("'{}.hidden_only' needs 'like', and an input with 'hide' above 0", key);
  }
  if (query.normalise == Normalise::kExample) {
    fail("'{}.normalise' is 'example', which is for inputs; expected 'train' or 'none'", key);
  }
  if (!query.names.empty() && !is_class(query.loss)) {
    fail("'{}.names' are for the loss cross_entropy, this one is {}", key, to_word(query.loss));
  }
  check_fields(query.parts, key);
  check_quantiles(query, key);
  check_measures(query, key);
}

constexpr int64_t kByteChannels = 64;

void add_input_fields(ArrayInput& input, const ArrayAxes& axes) {
  if (!input.parts.empty()) return;
  if (input.bytes > 0) {
    input.parts = {{.category = ":", .channels = kByteChannels, .size = 256},
                   {.position = "learned", .channels = kByteChannels}};
    return;
  }
  input.parts.push_back({.number = ":"});
  if (!axes.index.empty()) input.parts.push_back({.position = "fourier"});
}

}  // namespace

// Fields that all name other arrays are of elements that lie as the first one's.
std::vector<std::string> arrays_of(const std::string& name, const ArrayInput& input) {
  if (!input.array.empty()) return input.array;
  std::string first;
  for (const ArrayField& field : input.parts) {
    if (!field.has_source()) continue;
    const std::string array = read_source(field.source(), "inputs." + name + ".fields").array;
    if (array.empty()) return {name};
    if (first.empty()) first = array;
  }
  return {first.empty() ? name : first};
}

std::vector<std::string> targets_of(const std::string& name, const ArrayQuery& query,
                                    const ArraysConfig& config) {
  if (!query.target.empty()) return query.target;
  if (!query.like.empty()) return arrays_of(query.like, config.inputs.at(query.like));
  return {name};
}

void check_grammar(const ArraysConfig& config) {
  if (config.inputs.empty())
    fail("there are no inputs; write a table [inputs.NAME] for each array");
  if (config.queries.empty()) {
    fail("there are no queries; write a table [queries.NAME] for each kind of output");
  }
  for (const auto& [name, input] : config.inputs) {
    check_name("inputs", name);
    check_fields(input.parts, "inputs." + name);
    if (input.bytes > 0 && input.array.size() > 1) {
      fail("'inputs.{}.bytes' are of one column, 'array' names {}", name, input.array.size());
    }
    if (input.bytes > 0 && input.element == ElementKind::kColumn) {
      fail("'inputs.{}.bytes': of texts each byte is an element, 'element' says columns are", name);
    }
    if (input.hide >= 1.0) fail("'inputs.{}.hide' must be less than 1", name);
    if (input.hide_all >= 1.0) fail("'inputs.{}.hide_all' must be less than 1", name);
  }
  double weight = 0.0;
  for (const auto& [name, query] : config.queries) {
    check_name("queries", name);
    if (name == "loss" || name == "model" || name == "examples") {
      fail("'queries.{}' has a name that measures have already; give it another", name);
    }
    check_query(name, query, config);
    weight += query.weight;
  }
  if (weight <= 0.0) fail("the weights of all queries are 0, expected one above");
}

void add_default_fields(ArraysConfig& config) {
  for (auto& [name, input] : config.inputs) {
    if (!input.shape.empty()) add_input_fields(input, axes_of(name, input));
  }
  for (auto& [name, query] : config.queries) {
    if (!query.like.empty()) {
      const ArrayInput& input = config.inputs.at(query.like);
      if (query.target.empty() && query.rows.empty()) query.rows = input.rows;
      if (query.parts.empty()) query.parts = input.parts;
    } else if (!query.at.empty() && query.parts.empty()) {
      query.parts.push_back({.fourier = ":"});
    }
    if (!query.measure.empty()) continue;
    query.measure = measures_for(query.loss);
    std::erase(query.measure, "f1");
    if (query.loss != ArrayLoss::kEndPoint) std::erase(query.measure, "end_point");
    if (query.loss == ArrayLoss::kMse) std::swap(query.measure[0], query.measure[1]);
  }
}

}  // namespace perceiver
