#include "perceiver/tasks/arrays/layout.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/count.h"
#include "perceiver/nn/position.h"

namespace perceiver {
namespace {

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t all = 1;
  for (const int64_t size : sizes) {
    if (all > kMostPixels / std::max<int64_t>(size, 1)) return kMostPixels + 1;
    all *= size;
  }
  return all;
}

void check_count(int64_t count, const std::string& what) {
  if (count <= kLargestCount) return;
  fail("'{}' has over {} elements or channels; cut it into patches", what, kLargestCount);
}

// The numbers or categories of a field in a place.
int64_t width_of(const ArrayField& field, int64_t own_channels, const std::string& key) {
  const ArraySource source = read_source(field.source(), key);
  if (!source.array.empty() && field.width == 0) {
    fail("'{}' has no width yet; name data that have '{}' (data.train=FILE), or give its width",
         key, source.array);
  }
  const int64_t channels = source.array.empty() ? own_channels : source.begin + field.width;
  const int64_t width = source.count(channels);
  if (width < 1 || source.begin + width > channels) {
    fail("'{}' asks for channels '{}', the array has {}", key, field.source(), channels);
  }
  if (field.width > 0 && field.width != width) {
    fail("'{}' is of {} numbers, 'width' says {}", key, width, field.width);
  }
  return width;
}

void check_statistics(const ArrayField& field, int64_t width, const std::string& key) {
  const bool learns = field.fourier.empty()
                          ? !field.number.empty() && field.normalise == Normalise::kTrain
                          : field.range.empty();
  if (!learns && field.mean.empty() && field.scale.empty()) return;
  if (field.mean.empty()) {
    fail("'{}' has no mean and scale yet; name the data to learn them from (data.train=FILE)", key);
  }
  if (std::ssize(field.mean) != width || std::ssize(field.scale) != width) {
    fail("'{}' is of {} numbers, its mean and scale of {} and {}", key, width, field.mean.size(),
         field.scale.size());
  }
  for (const double scale : field.scale) {
    if (!(scale > 0.0)) fail("'{}' has a scale of {}, expected numbers above 0", key, scale);
  }
}

FieldLayout position_layout(const ArrayField& field, const std::vector<int64_t>& grid,
                            const std::string& key) {
  if (grid.empty()) fail("'{}': without index axes there are no positions", key);
  if (field.position == "learned") return {FieldKind::kLearnedPosition, 0, field.channels};
  if (field.position == "fourier") {
    return {FieldKind::kPosition, 0,
            fourier_channels(static_cast<int64_t>(grid.size()), field.bands)};
  }
  fail("'{}' has the position '{}', expected 'fourier' or 'learned'", key, field.position);
}

FieldLayout field_layout(const ArrayField& field, const ElementsLayout& elements,
                         int64_t own_channels, const std::string& key) {
  if (!field.has_source()) return position_layout(field, elements.grid, key);
  const int64_t width = width_of(field, own_channels, key);
  check_statistics(field, width, key);
  const int64_t places = elements.places();
  if (!field.number.empty()) return {FieldKind::kNumber, width * places, width * places};
  if (places > 1) {
    fail("'{}': elements are patches of {} places, of which a number alone can be a field", key,
         places);
  }
  if (!field.fourier.empty()) {
    return {FieldKind::kFourier, width, fourier_channels(width, field.bands)};
  }
  if (field.size == 0) {
    fail(
        "'{}' has no size yet; name the data that show how many there are (data.train=FILE), or "
        "give "
        "its size",
        key);
  }
  check_count(field.size, key);
  return {FieldKind::kCategory, width, width * field.channels};
}

void add_parts(ElementsLayout& elements, const std::vector<ArrayField>& parts, int64_t own_channels,
               const std::string& key) {
  for (size_t i = 0; i < parts.size(); ++i) {
    elements.parts.push_back(
        field_layout(parts[i], elements, own_channels, fmt::format("{}.fields[{}]", key, i)));
    elements.channels += elements.parts.back().channels;
    check_count(elements.channels, key);
  }
}

// The places of `axes` in patches.
void set_grid(ElementsLayout& elements, const std::vector<int64_t>& axes,
              const std::vector<int64_t>& patch, const std::string& key) {
  elements.patch = patch.empty() ? std::vector<int64_t>(axes.size(), 1) : patch;
  if (elements.patch.size() != axes.size()) {
    fail("'{}.patch' has {} sizes, the array {} index axes", key, patch.size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] % elements.patch[i] != 0) {
      fail("'{}.patch' has {} along an axis of {}, which it does not divide", key,
           elements.patch[i], axes[i]);
    }
    elements.grid.push_back(axes[i] / elements.patch[i]);
  }
  elements.elements = product(elements.grid);
  check_count(elements.elements, key);
}

// Every number and category of the one place is an element.
void make_columns(ElementsLayout& elements, const ArrayInput& input, const std::string& key) {
  if (!elements.grid.empty()) {
    fail("'{}.element' is 'column', which is for arrays without index axes; this one has {}", key,
         elements.grid.size());
  }
  elements.elements = 0;
  for (FieldLayout& part : elements.parts) {
    if (part.kind != FieldKind::kNumber && part.kind != FieldKind::kCategory) {
      fail("'{}.element' is 'column', whose fields are numbers and categories alone", key);
    }
    elements.elements += part.width;
    part.channels = input.channels;
  }
  elements.channels = input.channels;
}

InputLayout input_layout(const std::string& name, const ArrayInput& input) {
  const std::string key = "inputs." + name;
  const ArrayAxes axes = axes_of(name, input);
  InputLayout layout;
  set_grid(layout.elements, axes.index, input.patch, key);
  add_parts(layout.elements, input.parts, axes.channels, key);
  if (input.element == ElementKind::kColumn) make_columns(layout.elements, input, key);
  layout.masked = !input.mask.empty() || input.missing || input.hide > 0.0 || input.hide_all > 0.0;
  const int64_t all = layout.elements.elements;
  layout.seen = input.sample > 0 ? std::min(input.sample, all) : all;
  if (layout.seen < all && input.element == ElementKind::kColumn) {
    fail("'{}.sample': columns are not sampled", key);
  }
  return layout;
}

void set_query_elements(QueryLayout& layout, const std::string& name, const ArrayQuery& query,
                        const ArraysConfig& config) {
  const std::string key = "queries." + name;
  if (!query.like.empty()) {
    const ArrayInput& input = config.inputs.at(query.like);
    const ArrayAxes axes = axes_of(query.like, input);
    set_grid(layout.elements, axes.index, input.patch, "inputs." + query.like);
    return add_parts(layout.elements, query.parts, axes.channels, key);
  }
  if (!query.at.empty()) {
    set_grid(layout.elements, asked_axes(name, query, config), {}, key);
    return add_parts(layout.elements, query.parts, query.shape.back(), key);
  }
  layout.elements.elements = std::max<int64_t>(query.learned, 1);
  layout.elements.channels = query.channels;
}

void check_target(const QueryLayout& layout, const ArrayQuery& query, const std::string& key) {
  if (query.target_shape.empty()) {
    fail("'{}' has no shape of its target yet; name the data that have it (data.train=FILE)", key);
  }
  if (is_class(query.loss) && layout.values != 1) {
    fail("'{}.loss' is cross_entropy, which needs one class an output; the target has {} numbers",
         key, layout.values);
  }
  if (is_class(query.loss) && query.classes < 1) {
    fail("'{}' has no number of classes yet; name the data that show it (data.train=FILE)", key);
  }
  if (!query.names.empty() && std::ssize(query.names) != query.classes) {
    fail("'{}.names' names {} classes, there are {}", key, query.names.size(), query.classes);
  }
  if (query.loss == ArrayLoss::kEndPoint && layout.values < 2) {
    fail("'{}.loss' is end_point, which needs vectors; the target has one number", key);
  }
  const bool scaled = !is_class(query.loss) && query.loss != ArrayLoss::kBinary &&
                      query.normalise == Normalise::kTrain;
  const int64_t channels = query.target_shape.back();
  if (!scaled && !(query.mean.empty() && query.scale.empty())) {
    fail("'{}' has a mean and a scale, which go with numbers and normalise = 'train'", key);
  }
  for (const double scale : query.scale) {
    if (!(scale > 0.0)) fail("'{}' has a scale of {}, expected numbers above 0", key, scale);
  }
  if (scaled && (std::ssize(query.mean) != channels || std::ssize(query.scale) != channels)) {
    fail("'{}' has a target of {} channels, its mean and scale are of {} and {}", key, channels,
         query.mean.size(), query.scale.size());
  }
}

int64_t outputs_of(const QueryLayout& layout, const ArrayQuery& query) {
  if (is_class(query.loss)) return query.classes;
  if (query.loss == ArrayLoss::kGaussian) return 2 * layout.values;
  if (query.loss == ArrayLoss::kQuantile) return layout.values * std::ssize(query.quantiles);
  return layout.values;
}

QueryLayout query_layout(const std::string& name, const ArrayQuery& query,
                         const ArraysConfig& config) {
  const std::string key = "queries." + name;
  QueryLayout layout;
  set_query_elements(layout, name, query, config);
  layout.target = query.target_shape;
  layout.values = layout.target.empty() ? 0 : layout.target.back();
  if (!query.like.empty()) layout.values *= layout.elements.places();
  check_target(layout, query, key);
  const std::vector<int64_t> axes = asked_axes(name, query, config);
  const std::vector<int64_t> answers =
      cut_axes({layout.target.begin(), layout.target.end() - 1}, query.rows, key + ".rows");
  if (answers != axes) {
    fail("'{}' asks for [{}] outputs, its target is of [{}]", key, fmt::join(axes, ", "),
         fmt::join(answers, ", "));
  }
  layout.outputs = outputs_of(layout, query);
  const int64_t all = layout.elements.elements;
  const bool learned = query.like.empty() && query.at.empty();
  layout.asked = query.sample > 0 && !learned ? std::min(query.sample, all) : all;
  layout.chosen =
      !query.like.empty() &&
      (query.hidden_only || input_layout(query.like, config.inputs.at(query.like)).masked);
  return layout;
}

}  // namespace

bool ElementsLayout::has(FieldKind kind) const {
  return std::ranges::any_of(parts, [&](const FieldLayout& part) { return part.kind == kind; });
}

int64_t ElementsLayout::places() const { return product(patch); }

std::vector<int64_t> cut_axes(std::vector<int64_t> axes, const std::vector<int64_t>& rows,
                              const std::string& key) {
  if (rows.empty()) return axes;
  if (axes.empty())
    fail("'{}' needs an array with an index axis, this one has channels alone", key);
  if (rows.size() != 2 || rows[0] >= rows[1] || rows[1] > axes[0]) {
    fail("'{}' is [{}], expected [begin, end] within the {} of the first axis", key,
         fmt::join(rows, ", "), axes[0]);
  }
  axes[0] = rows[1] - rows[0];
  return axes;
}

bool is_class(ArrayLoss loss) { return loss == ArrayLoss::kCrossEntropy; }

ArrayAxes axes_of(const std::string& name, const ArrayInput& input) {
  if (input.shape.empty()) {
    fail("'inputs.{}' has no shape yet; name the data that have it (data.train=FILE)", name);
  }
  const bool has_channels = input.has_channels || input.array.size() > 1;
  std::vector<int64_t> index = input.shape;
  if (has_channels) index.pop_back();
  return {cut_axes(index, input.rows, fmt::format("inputs.{}.rows", name)),
          has_channels ? input.shape.back() : 1};
}

std::vector<int64_t> asked_axes(const std::string& name, const ArrayQuery& query,
                                const ArraysConfig& config) {
  if (!query.like.empty()) return axes_of(query.like, config.inputs.at(query.like)).index;
  if (query.at.empty()) {
    return query.learned > 1 ? std::vector<int64_t>{query.learned} : std::vector<int64_t>{};
  }
  if (query.shape.empty()) {
    fail("'queries.{}' has no shape yet; name the data that have '{}' (data.train=FILE)", name,
         query.at);
  }
  return {query.shape.begin(), query.shape.end() - 1};
}

ArraysLayout layout_of(const ArraysConfig& config) {
  check_grammar(config);
  ArraysLayout layout;
  for (const auto& [name, input] : config.inputs) layout.inputs[name] = input_layout(name, input);
  for (const auto& [name, query] : config.queries) {
    layout.queries[name] = query_layout(name, query, config);
  }
  return layout;
}

}  // namespace perceiver
