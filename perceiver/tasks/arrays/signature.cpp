#include "perceiver/tasks/arrays/signature.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/tasks/arrays/examples.h"

namespace perceiver {
namespace {

// Of any number are places that are asked at, where the model can be asked at others.
bool any_number(const ArraysConfig& config, const ArraysLayout& layout, const std::string& array) {
  return std::ranges::any_of(config.queries, [&](const auto& one) {
    const std::vector<std::string> asking = asking_arrays(config, one.first);
    return !one.second.at.empty() && std::ranges::find(asking, array) != asking.end() &&
           !layout.queries.at(one.first).elements.has_positions();
  });
}

std::vector<int64_t> output_shape(const std::string& name, const ArraysConfig& config,
                                  const QueryLayout& layout) {
  const ArrayQuery& query = config.queries.at(name);
  std::vector<int64_t> shape = {kAny};
  for (const int64_t size : asked_axes(name, query, config)) {
    shape.push_back(query.at.empty() || layout.elements.has_positions() ? size : kAny);
  }
  shape.push_back(is_class(query.loss) ? query.classes : layout.target.back());
  if (query.loss == ArrayLoss::kQuantile) shape.push_back(std::ssize(query.quantiles));
  return shape;
}

}  // namespace

ArraysSignature signature_of(const ArraysConfig& config) {
  const ArraysLayout layout = layout_of(config);
  const ArrayTable any = random_table(config, /*examples=*/1);
  ArraysSignature signature;
  for (const std::string& name : needed_arrays(config, /*targets=*/false)) {
    const Tensor& array = any.array(name);
    std::vector<int64_t> shape = array.sizes().vec();
    shape[0] = kAny;
    if (any_number(config, layout, name)) {
      std::fill(shape.begin() + 1, shape.end() - (shape.size() > 2), kAny);
    }
    signature.inputs.push_back({name, shape, array.scalar_type() == at::kLong});
  }
  for (const auto& [name, query] : config.queries) {
    const std::vector<int64_t> shape = output_shape(name, config, layout.queries.at(name));
    signature.outputs.push_back({name, shape, false});
    if (query.loss != ArrayLoss::kGaussian) continue;
    signature.outputs.push_back({name + ".deviation", shape, false});
  }
  return signature;
}

}  // namespace perceiver
