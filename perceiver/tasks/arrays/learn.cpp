#include "perceiver/tasks/arrays/learn.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/lines.h"
#include "perceiver/tasks/arrays/values.h"

namespace perceiver {
namespace {

// Statistics of as many examples, or of fewer large ones, are as good as those of all, which may be
// more than memory holds. Categories are counted in all.
constexpr int64_t kMostExamples = 1 << 16, kFewestExamples = 256;
constexpr int64_t kMostValues = 1 << 27;
constexpr int64_t kValuesAtOnce = 1 << 22;

bool learns_statistics(const ArrayField& field) {
  if (!field.fourier.empty()) return field.range.empty() && field.mean.empty();
  return !field.number.empty() && field.normalise == Normalise::kTrain && field.mean.empty();
}

bool is_scaled(const ArrayQuery& query) {
  return !is_class(query.loss) && query.loss != ArrayLoss::kBinary &&
         query.normalise == Normalise::kTrain;
}

bool lacks(const ArrayField& field) {
  if (!field.has_source()) return false;
  const bool width = !read_source(field.source(), "").array.empty() && field.width == 0;
  return width || learns_statistics(field) || (!field.category.empty() && field.size == 0);
}

bool lacks(const ArrayInput& input) {
  return input.shape.empty() || input.parts.empty() ||
         std::ranges::any_of(input.parts, [](const ArrayField& f) { return lacks(f); });
}

bool lacks(const ArrayQuery& query) {
  return query.target_shape.empty() || (!query.at.empty() && query.shape.empty()) ||
         (is_class(query.loss) && query.classes == 0) || (is_scaled(query) && query.mean.empty()) ||
         std::ranges::any_of(query.parts, [](const ArrayField& f) { return lacks(f); });
}

// Of each channel; the counts of NaN left out.
struct Moments {
  Tensor count, mean, squares, low, high;  // double [channels]; squares: of what is apart from mean
  int64_t missing = 0;

  void add(const Tensor& values) {  // [n, channels]
    const Tensor x = values.to(at::kDouble), there = x.isnan().logical_not();
    const Tensor n = there.sum(0).to(at::kDouble);
    const Tensor m = at::where(there, x, 0.0).sum(0) / n.clamp_min(1.0);
    const Tensor s = at::where(there, x - m, 0.0).square().sum(0);
    missing += x.numel() - static_cast<int64_t>(n.sum().item<double>());
    const Tensor lowest = x.nan_to_num(INFINITY, INFINITY, -INFINITY).amin(0);
    const Tensor highest = x.nan_to_num(-INFINITY, INFINITY, -INFINITY).amax(0);
    if (!count.defined()) {
      count = n, mean = m, squares = s, low = lowest, high = highest;
      return;
    }
    // Chan, Golub and LeVeque: exact where a sum of squares would cancel.
    const Tensor all = (count + n).clamp_min(1.0), apart = m - mean;
    squares = squares + s + apart.square() * count * n / all;
    mean = mean + apart * n / all;
    count = count + n;
    low = at::minimum(low, lowest), high = at::maximum(high, highest);
  }
};

std::vector<double> to_list(const Tensor& x) {
  const Tensor plain = x.contiguous();
  return {plain.const_data_ptr<double>(), plain.const_data_ptr<double>() + plain.numel()};
}

// Rows of the training data, some at a time.
class Learner {
 public:
  explicit Learner(const ArrayTables& tables) : tables_(tables) {}

  // `values` gives [n, …, channels] of some rows of a table.
  using Values = std::function<Tensor(const ArrayTable& table, const PickRows& pick)>;

  Moments moments(const Values& values) const {
    Moments all;
    const auto [first, row] = tables_.at(0);
    const auto one = [row = row](const Tensor& array) { return array.narrow(0, row, 1); };
    const int64_t size = std::max<int64_t>(1, values(first, one).numel());
    const int64_t most = std::clamp(kMostValues / size, kFewestExamples, kMostExamples);
    each(std::min(tables_.size(), most), values,
         [&](const Tensor& some) { all.add(some.flatten(0, -2)); });
    return all;
  }

  // One more than the largest whole number.
  int64_t categories(const Values& values, const std::string& what) const {
    int64_t largest = -1;
    each(tables_.size(), values, [&](const Tensor& some) {
      largest = std::max(largest, whole_numbers(some, what).max().item<int64_t>());
    });
    if (largest < 0) fail("{} has no whole number from 0: there are no categories", what);
    return largest + 1;
  }

 private:
  void each(int64_t count, const Values& values,
            const std::function<void(const Tensor& some)>& use) const {
    const int64_t size = tables_.size();
    std::vector<int64_t> rows;
    const ArrayTable* table = nullptr;
    int64_t at_once = 1;
    const auto flush = [&] {
      if (rows.empty()) return;
      const Tensor index = at::tensor(rows, at::kLong);
      use(values(*table, [&](const Tensor& array) { return array.index_select(0, index); }));
      rows.clear();
    };
    for (int64_t i = 0; i < count; ++i) {
      const auto [next, row] = tables_.at((2 * i + 1) * size / (2 * count));
      if (table != &next || std::ssize(rows) >= at_once) flush();
      if (table != &next) {
        table = &next;
        const auto one = [&](const Tensor& array) { return array.narrow(0, row, 1); };
        at_once =
            std::max<int64_t>(1, kValuesAtOnce / std::max<int64_t>(1, values(next, one).numel()));
      }
      rows.push_back(row);
    }
    flush();
  }

  const ArrayTables& tables_;
};

void check_columns(const Moments& moments, const std::string& file, const std::string& what) {
  const Tensor none = moments.count.eq(0.0), infinite = moments.mean.isfinite().logical_not();
  const auto first = [](const Tensor& which) {
    return which.to(at::kByte).argmax().item<int64_t>();
  };
  if (none.any().item<bool>()) {
    fail("{}: {}: every number of channel {} is missing (NaN)", file, what, first(none));
  }
  if (infinite.any().item<bool>()) {
    fail("{}: {}: channel {} has infinite numbers", file, what, first(infinite));
  }
}

// mean and scale of numbers whose deviation, or half range, becomes 1; of constant ones nothing.
void set_statistics(const Moments& m, bool by_range, std::vector<double>& mean,
                    std::vector<double>& scale) {
  const Tensor centre = by_range ? (m.low + m.high) / 2 : m.mean;
  const Tensor spread = by_range ? (m.high - m.low) / 2 : (m.squares / m.count).sqrt();
  mean = to_list(centre);
  scale = to_list(at::where(spread > 1e-12 * centre.abs(), spread, 1.0));
}

void learn_field(ArrayField& field, const Learner& learner, const ArrayTables& tables,
                 const Learner::Values& own, const std::string& own_array, int64_t num_axes,
                 const std::string& key, bool& missing) {
  if (!field.has_source()) return;
  const ArraySource source = read_source(field.source(), key);
  const ArrayTable& first = tables.tables().front();
  if (!source.array.empty() && field.width == 0) {
    field.width = source_width(first, source, num_axes);
  }
  const auto values = [&](const ArrayTable& table, const PickRows& pick) {
    return field_values(table, field, own(table, pick), pick);
  };
  const std::string what = fmt::format("'{}' ({})", key, field.source());
  if (!field.category.empty()) {
    const auto words = first.words.find(source.array.empty() ? own_array : source.array);
    if (words != first.words.end()) {
      field.words = words->second;
      field.size = std::ssize(field.words);
    }
    if (field.size == 0) field.size = learner.categories(values, first.name + ": " + what);
    return;
  }
  const Moments moments = learner.moments(values);
  missing |= moments.missing > 0;
  check_columns(moments, first.name, what);
  if (learns_statistics(field)) {
    set_statistics(moments, !field.fourier.empty(), field.mean, field.scale);
  }
}

void learn_input(const std::string& name, ArrayInput& input, const ArrayTables& tables) {
  const Learner learner(tables);
  const auto own = [&](const ArrayTable& table, const PickRows& pick) {
    return input_values(table, name, input, pick);
  };
  const int64_t num_axes = std::ssize(axes_of(name, input).index);
  for (size_t i = 0; i < input.parts.size(); ++i) {
    learn_field(input.parts[i], learner, tables, own, arrays_of(name, input)[0], num_axes,
                fmt::format("inputs.{}.fields[{}]", name, i), input.missing);
  }
}

void learn_query(const std::string& name, ArraysConfig& config, const ArrayTables& tables) {
  ArrayQuery& query = config.queries.at(name);
  const Learner learner(tables);
  const auto own = [&](const ArrayTable& table, const PickRows& pick) {
    if (!query.at.empty()) return places_values(table, name, query, pick);
    return input_values(table, query.like, config.inputs.at(query.like), pick);
  };
  bool missing = false;
  const std::string own_array =
      query.like.empty() ? query.at : arrays_of(query.like, config.inputs.at(query.like))[0];
  const int64_t num_axes = std::ssize(asked_axes(name, query, config));
  for (size_t i = 0; i < query.parts.size(); ++i) {
    learn_field(query.parts[i], learner, tables, own, own_array, num_axes,
                fmt::format("queries.{}.fields[{}]", name, i), missing);
  }
  const auto target = [&](const ArrayTable& table, const PickRows& pick) {
    return target_values(table, name, query, config, pick);
  };
  const std::string what = fmt::format("the target of 'queries.{}'", name);
  const ArrayTable& first = tables.tables().front();
  const std::string& file = first.name;
  const auto words = first.words.find(targets_of(name, query, config)[0]);
  if (is_class(query.loss) && query.classes == 0) {
    if (words != first.words.end()) query.names = words->second;
    query.classes = std::ssize(query.names);
    if (words != first.words.end()) return;
    const int64_t found = learner.categories(target, file + ": " + what);
    if (query.names.empty()) query.classes = found;
    if (found > query.classes) {
      fail("{}: {} has the class {}, 'queries.{}.names' has {}, counted from 0", file, what,
           found - 1, name, query.classes);
    }
  } else if (query.loss == ArrayLoss::kBinary) {
    const Moments moments = learner.moments(target);
    check_columns(moments, file, what);
    check_binary(moments.low.min().item<double>(), moments.high.max().item<double>(),
                 file + ": " + what);
  } else if (is_scaled(query) && query.mean.empty()) {
    const Moments moments = learner.moments(target);
    check_columns(moments, file, what);
    set_statistics(moments, /*by_range=*/false, query.mean, query.scale);
  }
}

// One name that is a file's is the file's lines.
void read_names(ArrayQuery& query) {
  if (query.names.size() != 1 || !std::filesystem::is_regular_file(query.names[0])) return;
  query.names = lines_of(read_file(query.names[0]).bytes);
}

}  // namespace

void learn_from_data(ArraysExperiment& experiment) {
  ArraysConfig& config = experiment.model;
  check_grammar(config);
  for (auto& [name, query] : config.queries) read_names(query);
  for (auto& [name, input] : config.inputs) {
    if (input.bytes == 0) continue;
    input.has_channels = false;
    input.missing = true;  // what is behind a text's end
  }
  add_default_fields(config);
  const bool known =
      std::ranges::none_of(config.inputs, [](const auto& one) { return lacks(one.second); }) &&
      std::ranges::none_of(config.queries, [](const auto& one) { return lacks(one.second); });
  if (known || experiment.data.train.empty()) return;
  const ArrayTables tables = *tables_of(config, experiment.data, Split::kTrain);
  const ArrayTable& first = tables.tables().front();
  for (auto& [name, input] : config.inputs) {
    if (input.shape.empty()) input.shape = input_shape(first, name, input);
  }
  for (auto& [name, query] : config.queries) {
    if (!query.at.empty() && query.shape.empty()) query.shape = places_shape(first, name, query);
    if (query.target_shape.empty()) query.target_shape = target_shape(first, name, query, config);
  }
  add_default_fields(config);
  for (auto& [name, input] : config.inputs) learn_input(name, input, tables);
  for (auto& [name, query] : config.queries) learn_query(name, config, tables);
}

}  // namespace perceiver
