// Examples by number: what a task is trained and evaluated on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "perceiver/core/rng.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

// Arrays by name. A dataset's have no batch dimension; a batch's and a task's have one.
using Example = std::map<std::string, Tensor>;

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;

  // Example `index`, on the CPU. Called by several threads at once. Whatever is random comes from
  // `rng`, so that the example is the same on any of them. A file that cannot be read is an Error
  // that names it.
  virtual Example get(int64_t index, Rng& rng) const = 0;

  // Whether its examples come in a random order of their own, another one in each epoch (that of
  // `rng`), and are best asked for in that order: what is read as a stream.
  virtual bool orders_itself() const { return false; }

  // Examples of one batch put together; by default each array is stacked. Arrays of different
  // lengths are padded here, and pictures of one batch mixed (MixUp, CutMix).
  virtual Example batch(const std::vector<Example>& examples, Rng& rng) const;
};

// Arrays of the same name on top of each other: [...] each -> [B, ...].
Example stack(const std::vector<Example>& examples);

}  // namespace perceiver
