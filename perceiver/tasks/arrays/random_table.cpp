#include <ATen/ATen.h>

#include "perceiver/tasks/arrays/examples.h"
#include "perceiver/tasks/arrays/values.h"

namespace perceiver {
namespace {

// What the arrays of a table must be, as inputs and queries name them.
class Wanted {
 public:
  explicit Wanted(int64_t examples) : examples_(examples) {}

  void add(const std::string& name, std::vector<int64_t> sizes, int64_t categories = 0) {
    Array& array = arrays_[name];
    // An array may stand side by side with others, and be a target of one channel.
    const bool fewer = sizes.size() < array.sizes.size();
    if (!sizes.empty() && (!array.known || fewer)) {
      array.sizes = std::move(sizes);
      array.known = true;
    }
    if (categories > 0) array.categories = std::min(categories, array.categories);
  }

  // `own` are the arrays that the elements are of, `axes` their index axes.
  void add_fields(const std::vector<ArrayField>& parts, const std::vector<std::string>& own,
                  const std::vector<int64_t>& axes) {
    for (const ArrayField& field : parts) {
      if (!field.has_source()) continue;
      const ArraySource source = read_source(field.source(), "");
      const int64_t categories = field.category.empty() ? 0 : field.size;
      if (source.array.empty()) {
        for (const std::string& name : own) add(name, {}, categories);
        continue;
      }
      add(source.array, {}, categories);
      Array& array = arrays_.at(source.array);
      if (array.known) continue;
      // As many channels as any field asks for.
      const int64_t before = array.sizes.empty() ? 1 : array.sizes.back();
      array.sizes = axes;
      array.sizes.push_back(std::max(before, source.begin + field.width));
    }
  }

  TensorMap made() const {
    TensorMap tensors;
    for (const auto& [name, array] : arrays_) {
      std::vector<int64_t> sizes = array.sizes;
      sizes.insert(sizes.begin(), examples_);
      tensors[name] = array.categories < kMost ? at::randint(array.categories, sizes, at::kLong)
                                               : at::rand(sizes);
    }
    return tensors;
  }

 private:
  static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  struct Array {
    std::vector<int64_t> sizes = {};
    bool known = false;          // as an array that elements are of
    int64_t categories = kMost;  // kMost: any numbers
  };
  int64_t examples_;
  std::map<std::string, Array> arrays_;
};

void add_stacked(Wanted& wanted, const std::vector<std::string>& names, std::vector<int64_t> shape,
                 int64_t categories) {
  if (names.size() > 1) shape.pop_back();
  for (const std::string& name : names) wanted.add(name, shape, categories);
}

std::vector<int64_t> axes_before_rows(const ArrayInput& input) {
  std::vector<int64_t> axes = input.shape;
  if (input.has_channels || input.array.size() > 1) axes.pop_back();
  return axes;
}

}  // namespace

ArrayTable random_table(const ArraysConfig& config, int64_t examples) {
  Wanted wanted(examples);
  for (const auto& [name, input] : config.inputs) {
    const std::vector<std::string> arrays = arrays_of(name, input);
    add_stacked(wanted, arrays, input.shape, 0);
    wanted.add_fields(input.parts, arrays, axes_before_rows(input));
    if (!input.mask.empty()) wanted.add(input.mask, axes_before_rows(input), 2);
  }
  for (const auto& [name, query] : config.queries) {
    const int64_t categories = is_class(query.loss)               ? query.classes
                               : query.loss == ArrayLoss::kBinary ? 2
                                                                  : 0;
    const std::vector<std::string> targets = targets_of(name, query, config);
    const bool of_input = query.target.empty() && !query.like.empty();
    add_stacked(wanted, targets, of_input ? std::vector<int64_t>() : query.target_shape,
                categories);
    if (!query.at.empty()) {
      wanted.add(query.at, query.shape);
      wanted.add_fields(query.parts, {query.at}, asked_axes("", query, config));
    } else if (!query.like.empty()) {
      const ArrayInput& input = config.inputs.at(query.like);
      wanted.add_fields(query.parts, arrays_of(query.like, input), axes_before_rows(input));
    }
  }
  return table_of("random arrays", wanted.made(), needed_arrays(config, /*targets=*/true));
}

Example random_examples(const ArraysConfig& config, int64_t batch, ExampleUse use) {
  const ExampleMaker maker(config);
  const ArrayTable table = random_table(config, batch);
  std::vector<Example> examples;
  for (int64_t i = 0; i < batch; ++i) {
    Rng rng(0, 0, i);
    examples.push_back(maker.make(table, i, rng, use));
  }
  return stack(examples);
}

}  // namespace perceiver
