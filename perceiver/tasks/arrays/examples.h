// Rows of a table as the model sees them. By names: "inputs.x.0", what the first field of an input
// takes, [M, width]; "inputs.x.mask" [M], where there is an element; of a sample "inputs.x.index"
// [S] and "inputs.x.place" [S, axes]; for queries alike, and "queries.y.target" [O, values],
// "queries.y.asked" [O], where an answer counts.
#pragma once

#include "perceiver/tasks/arrays/layout.h"
#include "perceiver/tasks/arrays/table.h"

namespace perceiver {

enum class ExampleUse { kTrain, kMeasure, kRun };

std::string array_key(const char* kind, const std::string& name, const std::string& what);
std::string array_key(const char* kind, const std::string& name, size_t field);

class ExampleMaker {
 public:
  explicit ExampleMaker(const ArraysConfig& config) : config_(config), layout_(layout_of(config)) {}

  // `rng` draws samples and what is hidden; to run, nothing is random.
  Example make(const ArrayTable& table, int64_t row, Rng& rng, ExampleUse use) const;

  // An example to be run, in two halves: what the model sees, and what one query asks.
  Example inputs(const ArrayTable& table, int64_t row) const;
  Example asked(const ArrayTable& table, int64_t row, const std::string& query) const;

 private:
  struct One;  // an example as it grows

  void add_input(One& one, const std::string& name) const;
  void hide_inputs(One& one) const;
  void add_query(One& one, const std::string& name) const;
  void add_target(One& one, const std::string& name, const Tensor& index) const;
  void add_fields(One& one, const std::string& prefix, const std::vector<ArrayField>& parts,
                  const ElementsLayout& layout, const Tensor& own,
                  const std::vector<int64_t>& rows) const;

  const ArraysConfig config_;
  const ArraysLayout layout_;
};

class ArraysDataset : public Dataset {
 public:
  ArraysDataset(const ArraysConfig& config, ArrayTables tables, ExampleUse use)
      : maker_(config), tables_(std::move(tables)), use_(use) {}

  int64_t size() const override { return tables_.size(); }
  Example get(int64_t index, Rng& rng) const override {
    const ArrayTables::Place place = tables_.at(index);
    return maker_.make(place.table, place.row, rng, use_);
  }

 private:
  ExampleMaker maker_;
  ArrayTables tables_;
  ExampleUse use_;
};

// A table of the right sizes and any values, and examples of it.
ArrayTable random_table(const ArraysConfig& config, int64_t examples);
Example random_examples(const ArraysConfig& config, int64_t batch, ExampleUse use);

}  // namespace perceiver
