#include "perceiver/nn/recompute.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "perceiver/nn/autocast.h"

namespace perceiver {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

thread_local bool recomputes = false;

// What a forward pass depends on besides its inputs: dropout's random numbers, and mixed precision.
class Surroundings {
 public:
  explicit Surroundings(at::Device device)
      : device_(device),
        dtype_(at::autocast::is_autocast_enabled(device.type())
                   ? at::autocast::get_autocast_dtype(device.type())
                   : at::kFloat),
        random_(generator().get_state()) {}

  Tensor run(const std::function<Tensor()>& forward) const {
    const AutocastScope autocast(device_.type(), dtype_);
    at::Generator now = generator();
    const Tensor after = now.get_state();
    now.set_state(random_);
    Tensor output = forward();
    now.set_state(after);
    return output;
  }

 private:
  at::Generator generator() const { return at::globalContext().defaultGenerator(device_); }

  at::Device device_;
  at::ScalarType dtype_;
  Tensor random_;
};

// What is kept for the backward pass, besides tensors.
struct Kept : torch::CustomClassHolder {
  Kept(Forward f, Surroundings s, size_t n)
      : forward(std::move(f)), surroundings(std::move(s)), num_inputs(n) {}
  Forward forward;
  Surroundings surroundings;
  size_t num_inputs;
};

// `tensors` are the inputs and, after them, the parameters: autograd must know that the output
// depends on them.
struct Recompute : torch::autograd::Function<Recompute> {
  static Tensor forward(AutogradContext* context, c10::intrusive_ptr<Kept> kept,
                        const variable_list& tensors) {
    context->save_for_backward(tensors);
    context->saved_data["kept"] = c10::IValue::make_capsule(kept);
    const variable_list inputs(tensors.begin(), tensors.begin() + kept->num_inputs);
    return kept->forward(inputs);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto kept =
        c10::static_intrusive_pointer_cast<Kept>(context->saved_data["kept"].toCapsule());
    variable_list tensors = context->get_saved_variables();
    at::AutoGradMode with_grad(true);
    for (size_t i = 0; i < kept->num_inputs; ++i) {
      if (!tensors[i].defined()) continue;
      const bool needed = tensors[i].requires_grad();
      tensors[i] = tensors[i].detach();
      tensors[i].set_requires_grad(needed);
    }
    const variable_list inputs(tensors.begin(), tensors.begin() + kept->num_inputs);
    const Tensor output = kept->surroundings.run([&] { return kept->forward(inputs); });

    variable_list wanted, results(1);  // the first for `kept`, which has no gradient
    for (const Tensor& t : tensors) {
      if (t.defined() && t.requires_grad()) wanted.push_back(t);
    }
    const variable_list found =
        torch::autograd::grad({output}, wanted, gradients, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    size_t next = 0;
    for (const Tensor& t : tensors) {
      results.push_back(t.defined() && t.requires_grad() ? found[next++] : Tensor());
    }
    return results;
  }
};

}  // namespace

RecomputeScope::RecomputeScope(bool on) : before_(std::exchange(recomputes, on)) {}
RecomputeScope::~RecomputeScope() { recomputes = before_; }

Tensor recompute(torch::nn::Module& module, const std::vector<Tensor>& inputs,
                 const Forward& forward) {
  if (!recomputes || !at::GradMode::is_enabled()) return forward(inputs);
  variable_list tensors = inputs;
  for (const Tensor& parameter : module.parameters()) tensors.push_back(parameter);
  auto kept =
      c10::make_intrusive<Kept>(forward, Surroundings(inputs.at(0).device()), inputs.size());
  return Recompute::apply(std::move(kept), tensors);
}

}  // namespace perceiver
