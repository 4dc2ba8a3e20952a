// A user's arrays in, a trained model's outputs out, by the names of its config.
#pragma once

#include "perceiver/tasks/arrays/table.h"
#include "perceiver/tasks/hooks.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

// What all queries of the model put out for every example of a file: probabilities of classes, or
// numbers in the units of the training data, [examples, …, channels] on the CPU. Of a query "y"
// with the loss gaussian "y.deviation", too; with quantiles one axis more. Arrays of right answers
// need not be there. `progress` is told how many are done.
using ArraysProgress = std::function<void(int64_t done, int64_t all)>;
NamedTensors run_arrays(Model& model, const std::string& path, const ArraysProgress& progress = {});

// Of arrays in memory: table_of() makes tables of them.
NamedTensors run_arrays(Model& model, const ArrayTables& tables,
                        const ArraysProgress& progress = {});

// Index axes of what a query puts out, where the table has the places that it asks at.
std::vector<int64_t> output_axes(const ArraysConfig& config, const std::string& query,
                                 const ArrayTable& table);

// Outputs [n, O, E] of a head, O being the product of `axes`, as run_arrays() gives them.
void add_outputs(const ArraysConfig& config, const std::string& query, const Tensor& outputs,
                 const std::vector<int64_t>& axes, NamedTensors& named);

}  // namespace perceiver
