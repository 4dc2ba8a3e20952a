// What is trained and measured of a query's outputs.
#pragma once

#include "perceiver/tasks/arrays/layout.h"
#include "perceiver/tasks/measures.h"

namespace perceiver {

// Outputs of a head and the right answers, all in the target's normalised numbers.
struct Answered {
  Tensor outputs;  // float [B, O, E]
  Tensor target;   // float [B, O, values], NaN: unknown; of classes long [B, O, 1], -1: unknown
  Tensor asked;    // bool [B, O]; undefined: all
};

// Of each example the mean over the outputs whose answers are known, [B]; 0 where none is.
Tensor query_losses(const Answered& answered, const ArrayQuery& query, double label_smoothing);

// The names that figures of a query begin with: none where there is but one.
std::string figure_prefix(const std::string& name, const ArraysConfig& config);

// In the user's units: sums and weights, from which array_figures() makes the measures.
void measure_query(const Answered& answered, const ArrayQuery& query, const QueryLayout& layout,
                   const std::string& prefix, Measures& measures);
std::map<std::string, double> array_figures(const Measures& all);

bool lower_is_better(const std::string& measure);

// Outputs [B, O, E] as people want them: probabilities, or numbers in their units [B, O, values];
// of quantiles [B, O, values, quantiles]. `deviation` of a gaussian alone.
struct UserOutputs {
  Tensor values, deviation = {};
};
UserOutputs user_outputs(const Tensor& outputs, const ArrayQuery& query, const QueryLayout& layout);

}  // namespace perceiver
