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
  std::optional<InferenceAttend> inference = {};  // none: attention has no inference form
};

// What computes a part's attention in a place such as this: its device, dtype, batch, and whether
// it needs gradients.
AttentionChoice choose_attention(const Part& part, const AttentionCase& place);

struct ModelSummary {
  ArraySize inputs;                        // [M, C]
  std::optional<ArraySize> latents;        // [N, D]; a Transformer has none
  std::optional<ArraySize> queries;        // [O, Q]; average + project has none
  ArraySize outputs;                       // [O, E]
  std::optional<double> compression = {};  // of a model that puts its inputs out again
  std::vector<Part> parts = {};

  int64_t parameters() const;
  int64_t flops() const;
  void add(std::string prefix, const std::vector<Part>& more);
};

// Bytes a forward pass of `batch` examples holds at most, by stage. An estimate from the arrays'
// sizes: attention holds keys and values, and a tile of scores; decoding runs in slices of
// `slice` queries.
struct MemoryPlan {
  int64_t weights, encode, process, decode;

  int64_t peak() const;
};
MemoryPlan plan_memory(const ModelSummary& summary, int64_t batch, int64_t bytes_per_value,
                       int64_t slice);

}  // namespace perceiver
