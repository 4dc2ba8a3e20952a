#include "perceiver/tasks/arrays/run.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "perceiver/tasks/arrays/examples.h"
#include "perceiver/tasks/arrays/loss.h"
#include "perceiver/tasks/arrays/model.h"
#include "perceiver/tasks/arrays/patches.h"
#include "perceiver/tasks/arrays/values.h"

namespace perceiver {
namespace {

constexpr int64_t kMostExamplesAtOnce = 32;
constexpr int64_t kElementsAtOnce = 1 << 18;

// [n, O, values] with the axes of what was asked for, and without that of a single query.
Tensor in_place(const Tensor& values, const ArrayQuery& query, const QueryLayout& layout,
                const std::vector<int64_t>& axes) {
  if (!query.like.empty()) return from_elements(values, layout.elements);
  std::vector<int64_t> sizes = {values.size(0)};
  sizes.insert(sizes.end(), axes.begin(), axes.end());
  sizes.push_back(values.size(-1));
  return values.reshape(sizes);
}

int64_t examples_at_once(const ArraysLayout& layout) {
  int64_t elements = 1;
  for (const auto& [name, input] : layout.inputs) elements += input.elements.elements;
  for (const auto& [name, query] : layout.queries) elements += query.elements.elements;
  return std::clamp<int64_t>(kElementsAtOnce / elements, 1, kMostExamplesAtOnce);
}

}  // namespace

std::vector<int64_t> output_axes(const ArraysConfig& config, const std::string& name,
                                 const ArrayTable& table) {
  const ArrayQuery& query = config.queries.at(name);
  if (query.at.empty()) return asked_axes(name, query, config);
  std::vector<int64_t> axes = places_shape(table, name, query);
  axes.pop_back();
  return axes;
}

void add_outputs(const ArraysConfig& config, const std::string& name, const Tensor& outputs,
                 const std::vector<int64_t>& axes, NamedTensors& named) {
  const ArrayQuery& query = config.queries.at(name);
  const QueryLayout layout = layout_of(config).queries.at(name);
  const UserOutputs user = user_outputs(outputs.to(at::kCPU, at::kFloat), query, layout);
  const auto add = [&](const std::string& as, const Tensor& values) {
    if (values.dim() == 3) {
      named.emplace_back(as, in_place(values, query, layout, axes).contiguous());
      return;
    }
    std::vector<Tensor> each;  // quantiles
    for (const Tensor& one : values.unbind(-1)) {
      each.push_back(in_place(one, query, layout, axes));
    }
    named.emplace_back(as, at::stack(each, -1));
  };
  add(name, user.values);
  if (user.deviation.defined()) add(name + ".deviation", user.deviation);
}

NamedTensors run_arrays(Model& model, const ArrayTables& tables, const ArraysProgress& progress) {
  const at::NoGradGuard no_grad;
  auto& impl = model_as<ArraysModelImpl>(model, "run", "arrays");
  const ArraysConfig& config = *model.settings->model<ArraysConfig>();
  const ExampleMaker maker(config);
  const int64_t at_once = examples_at_once(impl.layout());
  std::map<std::string, std::vector<Tensor>> outputs;
  for (int64_t begin = 0; begin < tables.size(); begin += at_once) {
    const int64_t end = std::min(begin + at_once, tables.size());
    std::vector<Example> examples;
    for (int64_t i = begin; i < end; ++i) {
      const auto [table, row] = tables.at(i);
      Rng rng(0, 0, i);
      examples.push_back(maker.make(table, row, rng, ExampleUse::kRun));
    }
    for (const auto& [name, output] : impl.forward(to_model(impl, stack(examples)))) {
      outputs[name].push_back(output.to(at::kCPU, at::kFloat));
    }
    if (progress) progress(end, tables.size());
  }
  NamedTensors named;
  for (const auto& [name, parts] : outputs) {
    const std::vector<int64_t> axes = output_axes(config, name, tables.tables().front());
    add_outputs(config, name, at::cat(parts), axes, named);
  }
  return named;
}

NamedTensors run_arrays(Model& model, const std::string& path, const ArraysProgress& progress) {
  model_as<ArraysModelImpl>(model, "run", "arrays");
  const ArraysConfig& config = *model.settings->model<ArraysConfig>();
  return run_arrays(
      model,
      read_tables({path}, needed_arrays(config, /*targets=*/false), config, window_of(config)),
      progress);
}

}  // namespace perceiver
