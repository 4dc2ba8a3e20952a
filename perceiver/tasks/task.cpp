#include "perceiver/tasks/task.h"

#include "perceiver/core/error.h"

namespace perceiver {

Example Task::read(std::span<const File>) const { fail("models of this task read no files yet"); }

Tensor Task::classify(const Example&) { fail("models of this task have no classes"); }

Tensor Task::encode(const Example&) { fail("models of this task have no latents"); }

std::vector<InputView> Task::views(const Example&) const {
  fail("inputs of this task cannot be drawn yet");
}

Tensor in_place_of(const torch::nn::Module& module, const Tensor& x) {
  const Tensor weight = module.parameters().front();
  return x.is_floating_point() ? x.to(weight.device(), weight.scalar_type())
                               : x.to(weight.device());
}

Example in_place_of(const torch::nn::Module& module, const Example& x) {
  Example placed;
  for (const auto& [name, tensor] : x) placed[name] = in_place_of(module, tensor);
  return placed;
}

Tensor Task::forward_random(int64_t batch, Split split) {
  return forward(in_place_of(model(), random_inputs(batch)), split);
}

[[noreturn]] static void fail_to_train() { fail("models of this task cannot be trained yet"); }

std::string Task::config() const { fail_to_train(); }

const TrainConfig& Task::train_config() const { fail_to_train(); }

const EvalConfig& Task::eval_config() const { fail_to_train(); }

std::unique_ptr<Dataset> Task::dataset(Split) const { fail_to_train(); }

Example Task::random_batch(int64_t) const { fail_to_train(); }

Loss Task::loss(const Example&) { fail_to_train(); }

Measures Task::measure(const Example&) { fail_to_train(); }

std::map<std::string, double> Task::report(const Measures& all) const {
  std::map<std::string, double> figures;
  for (const auto& [name, measure] : all) figures[name] = measure.sum / measure.weight;
  return figures;
}

MainMeasure Task::main_measure() const { fail_to_train(); }

}  // namespace perceiver
