#include "perceiver/tasks/arrays/run.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "perceiver/tasks/arrays/examples.h"
#include "perceiver/tasks/arrays/loss.h"
#include "perceiver/tasks/arrays/model.h"
#include "perceiver/tasks/arrays/patches.h"

namespace perceiver {
namespace {

constexpr int64_t kExamplesAtOnce = 32;

// [n, O, …] with the axes of what was asked for, and without that of a single query.
Tensor in_place(const Tensor& values, const ArrayQuery& query, const QueryLayout& layout) {
  if (query.at.empty() && query.like.empty()) {
    return layout.elements.elements == 1 ? values.squeeze(1) : values;
  }
  const auto split = [&](const Tensor& each) { return from_elements(each, layout.elements); };
  if (values.dim() == 3) return split(values);
  std::vector<Tensor> each;  // quantiles
  for (const Tensor& one : values.unbind(-1)) each.push_back(split(one));
  return at::stack(each, -1);
}

// Tables whose examples are windows: of as many rows as those the model was made for.
TableWindow window_of(const ArraysConfig& config) {
  for (const auto& [name, input] : config.inputs) {
    const bool has_index = !axes_of(name, input).index.empty();
    if (has_index) return {.rows = input.shape[0]};
  }
  return {};
}

}  // namespace

void add_outputs(const ArraysConfig& config, const std::string& name, const Tensor& outputs,
                 NamedTensors& named) {
  const ArrayQuery& query = config.queries.at(name);
  const QueryLayout layout = layout_of(config).queries.at(name);
  const UserOutputs user = user_outputs(outputs.to(at::kCPU, at::kFloat), query, layout);
  named.emplace_back(name, in_place(user.values, query, layout).contiguous());
  if (!user.deviation.defined()) return;
  named.emplace_back(name + ".deviation", in_place(user.deviation, query, layout).contiguous());
}

NamedTensors run_arrays(Model& model, const std::string& path,
                        const std::function<void(int64_t done, int64_t all)>& progress) {
  const at::NoGradGuard no_grad;
  auto& impl = model_as<ArraysModelImpl>(model, "run", "arrays");
  const ArraysConfig& config = *model.settings->model<ArraysConfig>();
  const ArrayTables tables = read_tables({path}, config, window_of(config), /*targets=*/false);
  const ExampleMaker maker(config);
  std::map<std::string, std::vector<Tensor>> outputs;
  for (int64_t begin = 0; begin < tables.size(); begin += kExamplesAtOnce) {
    const int64_t end = std::min(begin + kExamplesAtOnce, tables.size());
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
  for (const auto& [name, parts] : outputs) add_outputs(config, name, at::cat(parts), named);
  return named;
}

}  // namespace perceiver
