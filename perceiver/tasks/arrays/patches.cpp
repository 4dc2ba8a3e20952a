#include "perceiver/tasks/arrays/patches.h"

#include <ATen/ATen.h>

namespace perceiver {

Tensor to_elements(const Tensor& values, const ElementsLayout& layout) {
  if (layout.places() == 1) return values.reshape({layout.elements, -1});
  std::vector<int64_t> sizes, order;
  const auto axes = static_cast<int64_t>(layout.grid.size());
  for (int64_t i = 0; i < axes; ++i) {
    sizes.push_back(layout.grid[i]);
    sizes.push_back(layout.patch[i]);
    order.push_back(2 * i);
  }
  for (int64_t i = 0; i < axes; ++i) order.push_back(2 * i + 1);
  sizes.push_back(values.size(-1));
  order.push_back(2 * axes);
  return values.reshape(sizes).permute(order).reshape({layout.elements, -1});
}

Tensor from_elements(const Tensor& elements, const ElementsLayout& layout) {
  const int64_t n = elements.size(0), channels = elements.size(2) / layout.places();
  std::vector<int64_t> sizes = {n}, order = {0}, whole = {n};
  const auto axes = static_cast<int64_t>(layout.grid.size());
  sizes.insert(sizes.end(), layout.grid.begin(), layout.grid.end());
  sizes.insert(sizes.end(), layout.patch.begin(), layout.patch.end());
  sizes.push_back(channels);
  for (int64_t i = 0; i < axes; ++i) {
    order.push_back(1 + i);
    order.push_back(1 + axes + i);
    whole.push_back(layout.grid[i] * layout.patch[i]);
  }
  order.push_back(1 + 2 * axes);
  whole.push_back(channels);
  return elements.reshape(sizes).permute(order).reshape(whole);
}

}  // namespace perceiver
