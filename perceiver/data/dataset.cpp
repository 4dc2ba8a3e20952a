#include "perceiver/data/dataset.h"

#include <ATen/ATen.h>

#include "perceiver/core/error.h"

namespace perceiver {

Example stack(const std::vector<Example>& examples) {
  Example batch;
  for (const auto& [name, first] : examples.at(0)) {
    std::vector<Tensor> rows;
    for (const Example& example : examples) {
      rows.push_back(example.at(name));
      if (rows.back().sizes() == first.sizes()) continue;
      fail("examples of one batch differ in the size of '{}': {} and {}", name,
           to_string(first.sizes()), to_string(rows.back().sizes()));
    }
    batch[name] = at::stack(rows);
  }
  return batch;
}

Example Dataset::batch(const std::vector<Example>& examples, Rng&) const { return stack(examples); }

}  // namespace perceiver
