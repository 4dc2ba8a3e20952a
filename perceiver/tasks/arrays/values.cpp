#include "perceiver/tasks/arrays/values.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace perceiver {
namespace {

std::vector<int64_t> sizes_of_one(const ArrayTable& table, const std::string& name) {
  return table.array(name).sizes().slice(1).vec();
}

std::string of_example(std::vector<int64_t> sizes) {
  sizes.insert(sizes.begin(), kAny);
  return to_string(sizes);
}

// Several arrays are one, each of them a channel.
std::vector<int64_t> stacked_shape(const ArrayTable& table, const std::vector<std::string>& names) {
  std::vector<int64_t> sizes = sizes_of_one(table, names[0]);
  for (const std::string& name : names) {
    if (sizes_of_one(table, name) == sizes) continue;
    fail("{}: arrays '{}' {} and '{}' {} stand side by side, so their sizes must be the same",
         table.name, names[0], of_example(sizes), name, of_example(sizes_of_one(table, name)));
  }
  sizes.push_back(std::ssize(names));
  return sizes;
}

Tensor stacked(const ArrayTable& table, const std::vector<std::string>& names,
               const PickRows& pick) {
  if (names.size() == 1) return pick(table.array(names[0]));
  std::vector<Tensor> channels;
  for (const std::string& name : names) channels.push_back(pick(table.array(name)).to(at::kDouble));
  return at::stack(channels, -1);
}

void check_sizes(const ArrayTable& table, const std::string& what,
                 const std::vector<int64_t>& sizes, const std::vector<int64_t>& expected) {
  if (sizes == expected) return;
  fail("{}: {} has shape {}, the model was made for {}", table.name, what, of_example(sizes),
       of_example(expected));
}

std::string quoted(const std::vector<std::string>& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

}  // namespace

std::vector<int64_t> input_shape(const ArrayTable& table, const std::string& name,
                                 const ArrayInput& input) {
  const std::vector<std::string> names = arrays_of(name, input);
  if (names.size() > 1) return stacked_shape(table, names);
  std::vector<int64_t> sizes = sizes_of_one(table, names[0]);
  if (!sizes.empty()) return sizes;
  if (!input.has_channels) {
    fail("{}: array '{}' has one number an example, so 'inputs.{}.has_channels' must be true",
         table.name, names[0], name);
  }
  return {1};
}

std::vector<int64_t> places_shape(const ArrayTable& table, const std::string& name,
                                  const ArrayQuery& query) {
  const std::vector<int64_t> sizes = sizes_of_one(table, query.at);
  if (sizes.size() >= 2) return sizes;
  fail(
      "{}: array '{}', which 'queries.{}' asks at, has shape {}, expected "
      "[example, query, channels]",
      table.name, query.at, name, of_example(sizes));
}

// With channels, which a file may leave out; and where one output is asked for, without its axis.
std::vector<int64_t> target_shape(const ArrayTable& table, const std::string& name,
                                  const ArrayQuery& query, const ArraysConfig& config) {
  const std::vector<std::string> names = targets_of(name, query, config);
  if (names.size() > 1) return stacked_shape(table, names);
  std::vector<int64_t> sizes = sizes_of_one(table, names[0]);
  const std::vector<int64_t> axes = asked_axes(name, query, config);
  if (axes.empty() && sizes.size() == 2 && sizes[0] == 1) sizes.erase(sizes.begin());
  if (sizes.size() == axes.size()) sizes.push_back(1);
  if (sizes.size() == axes.size() + 1) {
    const std::vector<int64_t> places(sizes.begin(), sizes.end() - 1);
    cut_axes(places, query.rows, fmt::format("queries.{}.rows", name));
    return sizes;
  }
  const bool asks_one = query.at.empty() && query.like.empty() && axes.empty() && sizes.size() == 2;
  fail(
      "{}: array '{}', the target of 'queries.{}', has shape {}, expected {}, or that and "
      "channels{}",
      table.name, names[0], name, of_example(sizes_of_one(table, names[0])), of_example(axes),
      asks_one ? fmt::format("; learned = {} asks for so many", sizes[0]) : "");
}

int64_t source_width(const ArrayTable& table, const ArraySource& source, int64_t num_axes) {
  const std::vector<int64_t> sizes = sizes_of_one(table, source.array);
  const int64_t channels = std::ssize(sizes) > num_axes ? sizes.back() : 1;
  const int64_t width = source.count(channels);
  if (width >= 1 && source.begin + width <= channels) return width;
  fail("{}: array '{}' has {} channels, a field asks for [{}:{}]", table.name, source.array,
       channels, source.begin, source.end < 0 ? "" : std::to_string(source.end));
}

// Numbers of words are no numbers.
static void check_words(const ArrayTable& table, const std::string& array, bool categories) {
  const auto words = table.words.find(array);
  if (categories || words == table.words.end()) return;
  fail(
      "{}: column '{}' has words such as '{}', expected numbers; make it a field of its own, "
      "{{category = '{}'}}",
      table.name, array, words->second.empty() ? "" : words->second[0], array);
}

Tensor input_values(const ArrayTable& table, const std::string& name, const ArrayInput& input,
                    const PickRows& pick) {
  const std::vector<std::string> names = arrays_of(name, input);
  const auto takes_own_number = [](const ArrayField& field) {
    return field.is_number() && read_source(field.source(), "").array.empty();
  };
  const bool categories = names.size() == 1 && std::ranges::none_of(input.parts, takes_own_number);
  for (const std::string& array : names) check_words(table, array, categories);
  const std::vector<int64_t> sizes = input_shape(table, name, input);
  std::vector<int64_t> expected = input.shape;
  if (!input.rows.empty() && sizes.size() == expected.size()) {
    expected[0] = std::max(sizes[0], input.rows[1]);
  }
  check_sizes(table, "array " + quoted(names), sizes, expected);
  const Tensor values = stacked(table, names, pick);
  const bool has_channels = names.size() > 1 || (input.has_channels && values.dim() > 1);
  return has_channels ? values : values.unsqueeze(-1);
}

Tensor places_values(const ArrayTable& table, const std::string& name, const ArrayQuery& query,
                     const PickRows& pick, bool any_number) {
  const std::vector<int64_t> sizes = places_shape(table, name, query);
  std::vector<int64_t> expected = query.shape;
  if (any_number) {
    expected = sizes;
    expected.back() = query.shape.back();
  }
  check_sizes(table, "array '" + query.at + "'", sizes, expected);
  return pick(table.array(query.at));
}

Tensor target_values(const ArrayTable& table, const std::string& name, const ArrayQuery& query,
                     const ArraysConfig& config, const PickRows& pick) {
  const std::vector<std::string> names = targets_of(name, query, config);
  for (const std::string& array : names) {
    const auto words = table.words.find(array);
    if (is_class(query.loss) || words == table.words.end()) continue;
    fail(
        "{}: column '{}' has words such as '{}', which the loss {} of 'queries.{}' cannot take; "
        "take cross_entropy",
        table.name, array, words->second.empty() ? "" : words->second[0], to_word(query.loss),
        name);
  }
  const std::vector<int64_t> shape = target_shape(table, name, query, config);
  check_sizes(table, "array " + quoted(names), shape, query.target_shape);
  const Tensor values = stacked(table, names, pick);
  std::vector<int64_t> sizes = shape;
  sizes.insert(sizes.begin(), values.size(0));
  return cut_rows(values.reshape(sizes), query.rows);
}

Tensor field_values(const ArrayTable& table, const ArrayField& field, const Tensor& own,
                    const PickRows& pick) {
  const ArraySource source = read_source(field.source(), "");
  if (source.array.empty()) {
    if (source.begin + source.count(own.size(-1)) > own.size(-1) ||
        source.count(own.size(-1)) < 1) {
      fail("{}: a field asks for channels '{}', the array has {}", table.name, field.source(),
           own.size(-1));
    }
    return own.narrow(-1, source.begin, source.count(own.size(-1)));
  }
  check_words(table, source.array, !field.category.empty());
  Tensor values = pick(table.array(source.array));
  if (values.dim() == own.dim() - 1) values = values.unsqueeze(-1);
  if (values.dim() != own.dim() ||
      values.sizes().slice(0, own.dim() - 1) != own.sizes().slice(0, own.dim() - 1)) {
    fail("{}: array '{}' has shape {}, expected the axes of the one it is a field of, {}",
         table.name, source.array, to_string(table.array(source.array).sizes()),
         of_example(own.sizes().slice(1, own.dim() - 2).vec()));
  }
  const int64_t width = source_width(table, source, own.dim() - 2);
  if (field.width > 0 && width != field.width) {
    fail("{}: array '{}' gives a field {} numbers, the model was made for {}", table.name,
         source.array, width, field.width);
  }
  return values.narrow(-1, source.begin, width);
}

Tensor cut_rows(const Tensor& values, const std::vector<int64_t>& rows) {
  return rows.empty() ? values : values.narrow(1, rows[0], rows[1] - rows[0]);
}

void check_binary(double low, double high, const std::string& what) {
  if (low >= 0.0 && high <= 1.0) return;
  fail("{} has numbers such as {}, the loss binary expects 0 and 1", what, low < 0.0 ? low : high);
}

Tensor whole_numbers(const Tensor& values, const std::string& what) {
  if (!values.is_floating_point()) return values.to(at::kLong).clamp_min(-1);
  const Tensor known = values.nan_to_num(-1.0, -1.0, -1.0).clamp_min(-1.0);
  if (!known.eq(known.round()).all().item<bool>()) {
    fail("{} has numbers such as {}, expected whole ones from 0", what,
         known.masked_select(known.ne(known.round()))[0].item<double>());
  }
  return known.to(at::kLong);
}

}  // namespace perceiver
