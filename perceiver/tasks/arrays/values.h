// Numbers of a table's rows, in the axes that the config gives them: [n, …index…, channels].
#pragma once

#include <functional>

#include "perceiver/tasks/arrays/layout.h"
#include "perceiver/tasks/arrays/table.h"

namespace perceiver {

// Some rows of an array: [examples, ...] -> [n, ...]
using PickRows = std::function<Tensor(const Tensor& array)>;

// Sizes without the examples, as the file has them.
std::vector<int64_t> input_shape(const ArrayTable& table, const std::string& name,
                                 const ArrayInput& input);
std::vector<int64_t> places_shape(const ArrayTable& table, const std::string& name,
                                  const ArrayQuery& query);
std::vector<int64_t> target_shape(const ArrayTable& table, const std::string& name,
                                  const ArrayQuery& query, const ArraysConfig& config);
int64_t source_width(const ArrayTable& table, const ArraySource& source, int64_t num_axes);

// The arrays themselves, all index axes whole. Fail where their sizes are not the config's; rows
// behind those that an input sees need not be there, and of places there may be `any_number`.
Tensor input_values(const ArrayTable& table, const std::string& name, const ArrayInput& input,
                    const PickRows& pick);
Tensor places_values(const ArrayTable& table, const std::string& name, const ArrayQuery& query,
                     const PickRows& pick, bool any_number = false);
Tensor target_values(const ArrayTable& table, const std::string& name, const ArrayQuery& query,
                     const ArraysConfig& config, const PickRows& pick);

// What a field takes of `own` [n, …, channels], or of an array with the same axes: [n, …, width].
Tensor field_values(const ArrayTable& table, const ArrayField& field, const Tensor& own,
                    const PickRows& pick);

// [begin, end] of the first index axis of [n, …]; empty: all of it.
Tensor cut_rows(const Tensor& values, const std::vector<int64_t>& rows);

// Whole numbers from 0; what is negative or NaN is unknown, and is -1 here. Fails for others.
Tensor whole_numbers(const Tensor& values, const std::string& what);

// Answers of the loss binary: fails unless both, the lowest and the highest, are from 0 to 1.
void check_binary(double low, double high, const std::string& what);

}  // namespace perceiver
