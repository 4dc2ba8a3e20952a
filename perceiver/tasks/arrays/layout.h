// Sizes of all arrays of a model, counted from its config, which is checked on the way. Where
// something does not fit, the message names the key in quotes and both sizes.
#pragma once

#include "perceiver/tasks/arrays/config.h"

namespace perceiver {

enum class FieldKind { kNumber, kFourier, kCategory, kPosition, kLearnedPosition };

struct FieldLayout {
  FieldKind kind;
  int64_t width;     // numbers or categories of an element, as data give them
  int64_t channels;  // that it fills of an element
};

// What elements are made of. Without index axes there is one.
struct ElementsLayout {
  std::vector<int64_t> grid = {};   // of the elements, along the index axes
  std::vector<int64_t> patch = {};  // places of an element along each
  std::vector<FieldLayout> parts = {};
  int64_t elements = 1, channels = 0;  // M, C

  bool has(FieldKind kind) const;
  bool has_positions() const {
    return has(FieldKind::kPosition) || has(FieldKind::kLearnedPosition);
  }
  int64_t places() const;  // of an element: the product of `patch`
};

struct InputLayout {
  ElementsLayout elements;
  bool masked;   // whether elements may be missing or hidden
  int64_t seen;  // elements in training: a sample, or all
};

struct QueryLayout {
  ElementsLayout elements;      // of learned queries: nothing but their number and channels
  std::vector<int64_t> target;  // sizes of the right answers, with channels
  int64_t values;               // numbers of a right answer; 1 for a class
  int64_t outputs;              // channels of the head (E)
  int64_t asked;                // queries in training: a sample, or all
  bool chosen;                  // whether some elements are not asked for
};

struct ArraysLayout {
  std::map<std::string, InputLayout> inputs;
  std::map<std::string, QueryLayout> queries;
};

ArraysLayout layout_of(const ArraysConfig& config);

// Of the array of an input, once its shape is known: index axes with `rows` cut, and channels.
struct ArrayAxes {
  std::vector<int64_t> index;
  int64_t channels;
};
ArrayAxes axes_of(const std::string& name, const ArrayInput& input);

// [begin, end] of the first of `axes`; empty: all of it. Fails, naming `key`, where it is not
// within.
std::vector<int64_t> cut_axes(std::vector<int64_t> axes, const std::vector<int64_t>& rows,
                              const std::string& key);

// Names of arrays where the config leaves them to be those of the input or query.
std::vector<std::string> arrays_of(const std::string& name, const ArrayInput& input);
std::vector<std::string> targets_of(const std::string& name, const ArrayQuery& query,
                                    const ArraysConfig& config);
bool is_class(ArrayLoss loss);  // whether answers are whole numbers

// Index axes of the places that a query asks for.
std::vector<int64_t> asked_axes(const std::string& name, const ArrayQuery& query,
                                const ArraysConfig& config);

// What can be said without data: that inputs and queries are told apart by what they have.
void check_grammar(const ArraysConfig& config);

// Fields where there are none, once shapes are known.
void add_default_fields(ArraysConfig& config);

}  // namespace perceiver
