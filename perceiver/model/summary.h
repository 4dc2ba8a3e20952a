// What a model is made of and what a forward pass of one example costs: for inspect and the
// paper's ledger.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perceiver/nn/attend_plan.h"

namespace perceiver {

// Index dimension and channels of an array.
struct ArraySize {
  int64_t index = 0, channels = 0;
  bool operator==(const ArraySize&) const = default;
};

// How many times as many values the input array has as the latent array, (M x C) / (N x D): the
// paper's 88x, 176x and 352x (Sec. 4.3). Its channels are counted with position and padding.
double compression(const ArraySize& inputs, const ArraySize& latents);

// A step of the forward pass. A multiply and an add are two operations (paper, App. D); only
// products of matrices and convolutions are counted.
struct Part {
  std::string name;
  int64_t parameters = 0;
  int64_t flops = 0;  // of all `times` together
  int64_t times = 1;  // that the same weights are applied
  std::optional<AttentionCase> attention = {};
  std::optional<AttendShape> shape = {};  // of an attend, which has forms; a Transformer's has none
};

// Where and how a model runs.
struct AttendPlace {
  Hardware device = {};
  at::ScalarType dtype = at::kFloat;  // that products are computed in
  int64_t batch = 1;
  AttendMode mode = {};
};

// How the part's attention is computed there; of a part that has one.
AttendPlan plan_attend(const Part& part, const AttendPlace& place);

struct ModelSummary {
  ArraySize inputs;                        // [M, C]
  std::optional<ArraySize> latents;        // [N, D]; a Transformer has none
  std::optional<ArraySize> queries;        // [O, Q]; average + project has none
  ArraySize outputs;                       // [O, E]
  std::optional<double> compression = {};  // of a model that puts its inputs out again
  std::vector<Part> parts = {};

  // Values of an example that exist while the input array is made, or that the allocator keeps of
  // it; 0: those of the array.
  int64_t made_inputs = 0;

  int64_t parameters() const;
  int64_t flops() const;
  int64_t input_values() const;
  void add(std::string prefix, const std::vector<Part>& more);
};

}  // namespace perceiver
