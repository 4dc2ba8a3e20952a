#include "perceiver/tasks/arrays/examples.h"

#include <ATen/ATen.h>

#include "perceiver/nn/position.h"
#include "perceiver/tasks/arrays/patches.h"
#include "perceiver/tasks/arrays/values.h"

namespace perceiver {
namespace {

// Small numbers of any kind are exact in float; of others the mean is taken off before they are.
Tensor exact(const Tensor& x) {
  const bool wide =
      x.scalar_type() == at::kDouble || x.scalar_type() == at::kLong || x.scalar_type() == at::kInt;
  return x.to(wide ? at::kDouble : at::kFloat);
}

Tensor list(const std::vector<double>& values, const Tensor& like) {
  return at::tensor(values, at::kDouble).to(like.dtype());
}

// Of the example's own numbers that are there, each channel by itself.
Tensor normalised_by_itself(const Tensor& x) {
  const Tensor rows = x.flatten(0, -2);  // [places, channels]
  const Tensor there = rows.isnan().logical_not();
  const Tensor count = there.sum(0).clamp_min(1).to(x.dtype());
  const Tensor mean = at::where(there, rows, 0.0).sum(0) / count;
  const Tensor spread = (at::where(there, rows - mean, 0.0).square().sum(0) / count).sqrt();
  return (x - mean) / at::where(spread > 1e-6, spread, 1.0);
}

Tensor normalised(const Tensor& values, const ArrayField& field) {
  const Tensor x = exact(values);
  if (!field.range.empty() && !field.fourier.empty()) {
    return (x - (field.range[0] + field.range[1]) / 2) / ((field.range[1] - field.range[0]) / 2);
  }
  const bool by_example = field.fourier.empty() && field.normalise == Normalise::kExample;
  if (by_example) return normalised_by_itself(x);
  if (field.mean.empty()) return x;
  return (x - list(field.mean, x)) / list(field.scale, x);
}

// A random subset of so many, those that are `wanted` first.
Tensor drawn(const Tensor& wanted, int64_t count, Rng& rng) {
  const Tensor plain = wanted.contiguous();
  const bool* is_wanted = plain.const_data_ptr<bool>();
  std::vector<int64_t> first, rest;
  for (int64_t i = 0; i < plain.numel(); ++i) (is_wanted[i] ? first : rest).push_back(i);
  const auto shuffle = [&](std::vector<int64_t>& places) {
    for (int64_t i = std::ssize(places) - 1; i > 0; --i) {
      std::swap(places[i], places[rng.integer(i + 1)]);
    }
  };
  shuffle(first);
  shuffle(rest);
  first.insert(first.end(), rest.begin(), rest.end());
  first.resize(count);
  return at::tensor(first, at::kLong);
}

// True for a share of those that are there; at least one of several stays.
Tensor drawn_hidden(const Tensor& there, double share, Rng& rng) {
  const Tensor plain = there.contiguous(), hidden = at::zeros_like(plain);
  const bool* is_there = plain.const_data_ptr<bool>();
  bool* hides = hidden.mutable_data_ptr<bool>();
  int64_t left = 0, last = -1;
  for (int64_t i = 0; i < plain.numel(); ++i) {
    hides[i] = is_there[i] && rng.chance(share);
    left += is_there[i] && !hides[i];
    if (is_there[i] && hides[i]) last = i;
  }
  if (left == 0 && last >= 0) hides[last] = false;
  return hidden;
}

constexpr const char* kInputs = "inputs";
constexpr const char* kQueries = "queries";

}  // namespace

std::string array_key(const char* kind, const std::string& name, const std::string& what) {
  return fmt::format("{}.{}.{}", kind, name, what);
}
std::string array_key(const char* kind, const std::string& name, size_t field) {
  return fmt::format("{}.{}.{}", kind, name, field);
}

struct ExampleMaker::One {
  const ArrayTable& table;
  int64_t row;
  Rng& rng;
  ExampleUse use;
  Example example = {};
  // Of each input, before it is sampled, [M]: where there is something, and what of it is hidden.
  std::map<std::string, Tensor> there = {}, hidden = {};

  Tensor pick(const Tensor& array) const { return array.narrow(0, row, 1); }
  std::string place() const { return fmt::format("{}: example {}", table.name, row); }

  // Of elements by the names of their arrays: those drawn, and where they lie.
  void sample(const std::string& prefix, const ElementsLayout& layout, const Tensor& index) {
    for (auto& [key, values] : example) {
      if (key.starts_with(prefix)) values = values.index_select(0, index);
    }
    if (layout.has(FieldKind::kLearnedPosition)) example[prefix + "index"] = index;
    if (layout.has(FieldKind::kPosition)) {
      example[prefix + "place"] = positions_at(index, layout.grid);
    }
  }
};

void ExampleMaker::add_fields(One& one, const std::string& prefix,
                              const std::vector<ArrayField>& parts, const ElementsLayout& layout,
                              const Tensor& own, const std::vector<int64_t>& rows) const {
  const auto pick = [&](const Tensor& array) { return one.pick(array); };
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].has_source()) continue;
    const Tensor values = cut_rows(field_values(one.table, parts[i], own, pick), rows).squeeze(0);
    const std::string key = fmt::format("{}{}", prefix, i);
    if (parts[i].category.empty()) {
      const int64_t places = layout.parts[i].kind == FieldKind::kNumber ? layout.places() : 1;
      const Tensor x = normalised(values, parts[i]).to(at::kFloat);
      one.example[key] = places > 1 ? to_elements(x, layout) : x.reshape({-1, x.size(-1)});
      continue;
    }
    const bool own_array = read_source(parts[i].category, "").array.empty();
    const std::string what =
        fmt::format("{}: '{}'", one.place(),
                    own_array ? prefix.substr(0, prefix.size() - 1) : parts[i].category);
    const Tensor ids = whole_numbers(values, what).reshape({-1, values.size(-1)});
    const int64_t largest = ids.max().item<int64_t>();
    if (largest >= parts[i].size) {
      fail("{} has the category {}, the model knows {}, counted from 0", what, largest,
           parts[i].size);
    }
    one.example[key] = at::where(ids < 0, parts[i].size, ids);  // the last vector: unknown
  }
}

// NaN becomes 0, the mean; where all numbers of an element are NaN, there is none. Of columns each
// number is an element, and so is each category. -> [M] of them, undefined without numbers
static Tensor take_out_missing(Example& example, const std::string& prefix, size_t num_fields,
                               bool columns) {
  std::vector<Tensor> missing;
  for (size_t i = 0; i < num_fields; ++i) {
    const auto found = example.find(fmt::format("{}{}", prefix, i));
    if (found == example.end()) continue;
    Tensor& values = found->second;
    if (values.is_floating_point()) {
      missing.push_back(values.isnan());
      values = at::where(missing.back(), 0.0, values).to(at::kFloat);
    } else if (columns) {
      missing.push_back(at::zeros_like(values, at::kBool));
    }
  }
  if (missing.empty()) return {};
  const Tensor all = at::cat(missing, -1);
  return columns ? all.flatten() : all.all(-1);
}

void ExampleMaker::add_input(One& one, const std::string& name) const {
  const ArrayInput& input = config_.inputs.at(name);
  const ElementsLayout& layout = layout_.inputs.at(name).elements;
  const std::string prefix = array_key(kInputs, name, "");
  const auto pick = [&](const Tensor& array) { return one.pick(array); };
  const Tensor own = input_values(one.table, name, input, pick);
  add_fields(one, prefix, input.parts, layout, own, input.rows);
  const bool columns = input.element == ElementKind::kColumn;
  Tensor there = at::ones({layout.elements}, at::kBool);
  if (input.bytes > 0) {
    const Tensor ids = whole_numbers(own, fmt::format("{}: 'inputs.{}'", one.place(), name));
    there = to_elements(cut_rows(ids.ge(0), input.rows).squeeze(0), layout).any(-1);
  }
  const Tensor missing = take_out_missing(one.example, prefix, input.parts.size(), columns);
  if (missing.defined() && missing.any().item<bool>()) {
    if (!input.missing && input.mask.empty()) {
      fail(
          "{}: 'inputs.{}' has missing numbers (NaN), which the data that the model was made for "
          "had not; train with inputs.{}.missing=true",
          one.place(), name, name);
    }
    there.logical_and_(missing.logical_not());
  }
  if (!input.mask.empty()) {
    const Tensor mask = one.pick(one.table.array(input.mask)).ne(0);
    std::vector<int64_t> axes = own.sizes().slice(1, own.dim() - 2).vec();
    if (mask.numel() != c10::multiply_integers(axes)) {
      fail("{}: the mask '{}' has shape {}, expected the index axes of 'inputs.{}', {}",
           one.table.name, input.mask, to_string(one.table.array(input.mask).sizes()), name,
           to_string(axes));
    }
    axes.insert(axes.begin(), 1);
    axes.push_back(1);
    const Tensor cut = cut_rows(mask.reshape(axes), input.rows).squeeze(0);
    there.logical_and_(to_elements(cut, layout).any(-1));
  }
  one.there[name] = there;
}

void ExampleMaker::hide_inputs(One& one) const {
  int64_t left = 0;
  for (const auto& [name, there] : one.there) left += there.any().item<bool>();
  if (left == 0) fail("{}: every element of its inputs is missing", one.place());
  for (const auto& [name, input] : config_.inputs) {
    const Tensor& there = one.there.at(name);
    const bool trains = one.use == ExampleUse::kTrain;
    bool asked = false;  // for what is hidden: then it is hidden to be measured, too
    for (const auto& [query, c] : config_.queries) asked |= c.like == name && c.hidden_only;
    Tensor hidden = at::zeros_like(there);
    if (input.hide > 0.0 && (trains || (asked && one.use == ExampleUse::kMeasure))) {
      hidden = drawn_hidden(there, input.hide, one.rng);
    }
    const bool shown = there.any().item<bool>();
    if (trains && input.hide_all > 0.0 && one.rng.chance(input.hide_all) && shown && left > 1) {
      hidden = there;
      --left;
    }
    one.hidden[name] = hidden;
    const std::string prefix = array_key(kInputs, name, "");
    const InputLayout& layout = layout_.inputs.at(name);
    const Tensor seen = there.logical_and(hidden.logical_not());
    if (layout.masked) one.example[prefix + "mask"] = seen;
    if (trains && layout.seen < layout.elements.elements) {
      one.sample(prefix, layout.elements, drawn(seen, layout.seen, one.rng));
    }
  }
}

void ExampleMaker::add_target(One& one, const std::string& name, const Tensor& index) const {
  const ArrayQuery& query = config_.queries.at(name);
  const auto pick = [&](const Tensor& array) { return one.pick(array); };
  const QueryLayout& layout = layout_.queries.at(name);
  const Tensor answers = target_values(one.table, name, query, config_, pick).squeeze(0);
  Tensor target;
  if (is_class(query.loss)) {
    const std::string what = fmt::format("{}: the target of 'queries.{}'", one.place(), name);
    target = whole_numbers(answers, what).reshape({-1, 1});
    const int64_t largest = target.max().item<int64_t>();
    if (largest >= query.classes) {
      fail("{} has the class {}, the model knows {}, counted from 0", what, largest, query.classes);
    }
  } else {
    const Tensor x = exact(answers);
    if (query.loss == ArrayLoss::kBinary) {
      check_binary(x.nan_to_num(0.0).min().item<double>(), x.nan_to_num(0.0).max().item<double>(),
                   fmt::format("{}: the target of 'queries.{}'", one.place(), name));
    }
    const Tensor scaled = query.mean.empty() ? x : (x - list(query.mean, x)) / list(query.scale, x);
    target = layout.elements.places() > 1 ? to_elements(scaled, layout.elements)
                                          : scaled.reshape({-1, scaled.size(-1)});
    target = target.to(at::kFloat);
  }
  one.example[array_key(kQueries, name, "target")] =
      index.defined() ? target.index_select(0, index) : target;
}

void ExampleMaker::add_query(One& one, const std::string& name) const {
  const ArrayQuery& query = config_.queries.at(name);
  const QueryLayout& layout = layout_.queries.at(name);
  const std::string prefix = array_key(kQueries, name, "");
  const auto pick = [&](const Tensor& array) { return one.pick(array); };
  if (!query.at.empty()) {
    // A model that is run may be asked at any number of places, unless these have numbers.
    const bool any_number = one.use == ExampleUse::kRun && !layout.elements.has_positions();
    const Tensor own = places_values(one.table, name, query, pick, any_number);
    add_fields(one, prefix, query.parts, layout.elements, own, {});
  } else if (!query.like.empty()) {
    const ArrayInput& input = config_.inputs.at(query.like);
    const Tensor own = input_values(one.table, query.like, input, pick);
    add_fields(one, prefix, query.parts, layout.elements, own, input.rows);
  }
  take_out_missing(one.example, prefix, query.parts.size(), /*columns=*/false);
  if (layout.chosen && one.use != ExampleUse::kRun) {
    const auto& which = query.hidden_only ? one.hidden : one.there;
    one.example[prefix + "asked"] = which.at(query.like);
  }
  Tensor index;
  if (one.use == ExampleUse::kTrain && layout.asked < layout.elements.elements) {
    const Tensor all = at::ones({layout.elements.elements}, at::kBool);
    const bool chosen = layout.chosen;
    index = drawn(chosen ? one.example.at(prefix + "asked") : all, layout.asked, one.rng);
    one.sample(prefix, layout.elements, index);
  }
  if (one.use != ExampleUse::kRun) add_target(one, name, index);
}

Example ExampleMaker::make(const ArrayTable& table, int64_t row, Rng& rng, ExampleUse use) const {
  One one{.table = table, .row = row, .rng = rng, .use = use};
  for (const auto& [name, input] : config_.inputs) add_input(one, name);
  hide_inputs(one);
  for (const auto& [name, query] : config_.queries) add_query(one, name);
  return std::move(one.example);
}

Example ExampleMaker::inputs(const ArrayTable& table, int64_t row) const {
  Rng rng(0, 0, row);
  One one{.table = table, .row = row, .rng = rng, .use = ExampleUse::kRun};
  for (const auto& [name, input] : config_.inputs) add_input(one, name);
  hide_inputs(one);
  return std::move(one.example);
}

Example ExampleMaker::asked(const ArrayTable& table, int64_t row, const std::string& query) const {
  Rng rng(0, 0, row);
  One one{.table = table, .row = row, .rng = rng, .use = ExampleUse::kRun};
  add_query(one, query);
  return std::move(one.example);
}

}  // namespace perceiver
