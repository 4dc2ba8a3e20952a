#include "perceiver/nn/recompute.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "perceiver/nn/packed.h"

namespace perceiver {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What a forward pass depends on besides its inputs: dropout's random numbers, mixed precision, and
// the thread's choice of kernels and forms. A GPU's backward pass has a thread of its own.
class Surroundings {
 public:
  explicit Surroundings(at::Device device) : device_(device), random_(generator().get_state()) {
    const Run run = run_of_this_thread();
    kernel_ = run.kernel, plain_ = run.plain_attends, fused_ = run.fused_attends;
    libtorch_ = run.libtorch;
  }

  Tensor run(const std::function<Tensor()>& forward) const {
    // The rest, what observes for instance, may be gone by now.
    const RunScope scope([this](Run& run) {
      run.kernel = kernel_, run.plain_attends = plain_, run.fused_attends = fused_;
      run.libtorch = libtorch_;
    });
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
  Tensor random_;
  std::string kernel_;
  bool plain_, fused_;
  std::optional<Run::LibTorch> libtorch_;
};

// What is kept for the backward pass, besides tensors.
struct Kept : torch::CustomClassHolder {
  Kept(Forward f, Surroundings s) : forward(std::move(f)), surroundings(std::move(s)) {}

  // Autograd takes no undefined tensors: `tensors` begins with the inputs that are defined.
  Tensor run(at::TensorList tensors) const {
    std::vector<Tensor> inputs;
    size_t next = 0;
    for (const bool defined : is_defined) inputs.push_back(defined ? tensors[next++] : Tensor());
    return forward(inputs);
  }

  Forward forward;
  Surroundings surroundings;
  std::vector<bool> is_defined = {};  // of the inputs
  size_t num_defined = 0;
};

// `tensors` are the inputs and, after them, the parameters: autograd must know that the output
// depends on them.
struct Recompute : torch::autograd::Function<Recompute> {
  // A TensorList: LibTorch looks for tensors in no other kind of list.
  static Tensor forward(AutogradContext* context, c10::intrusive_ptr<Kept> kept,
                        at::TensorList tensors) {
    context->save_for_backward(tensors.vec());
    context->saved_data["kept"] = c10::IValue::make_capsule(kept);
    const PlainAttendScope plain;  // as the backward pass will
    return kept->run(tensors);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto kept =
        c10::static_intrusive_pointer_cast<Kept>(context->saved_data["kept"].toCapsule());
    variable_list tensors = context->get_saved_variables();
    at::AutoGradMode with_grad(true);
    for (size_t i = 0; i < kept->num_defined; ++i) {
      const bool needed = tensors[i].requires_grad();
      tensors[i] = tensors[i].detach();
      tensors[i].set_requires_grad(needed);
    }
    const Tensor output = kept->surroundings.run([&] { return kept->run(tensors); });

    variable_list wanted, results(1);  // the first for `kept`, which has no gradient
    for (const Tensor& t : tensors) {
      if (t.requires_grad()) wanted.push_back(t);
    }
    const variable_list found =
        torch::autograd::grad({output}, wanted, gradients, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    size_t next = 0;
    for (const Tensor& t : tensors) {
      results.push_back(t.requires_grad() ? found[next++] : Tensor());
    }
    return results;
  }
};

}  // namespace

bool recomputes_now() { return current_run().recompute && at::GradMode::is_enabled(); }

Tensor recompute(torch::nn::Module& module, const std::vector<Tensor>& inputs,
                 const Forward& forward) {
  if (!recomputes_now()) return forward(inputs);
  auto kept = c10::make_intrusive<Kept>(forward, Surroundings(inputs.at(0).device()));
  variable_list tensors;
  for (const Tensor& input : inputs) {
    kept->is_defined.push_back(input.defined());
    if (input.defined()) tensors.push_back(input);
  }
  kept->num_defined = tensors.size();
  for (const Tensor& parameter : module.parameters()) tensors.push_back(parameter);
  return Recompute::apply(std::move(kept), at::TensorList(tensors));
}

}  // namespace perceiver
