// torch.ops.perceiver.attention: the kernels alone, for models that are not ours. It has gradients,
// and shapes without values, so that torch.compile and torch.export take it.
#include "perceiver/kernels/attention/attention.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <limits>

#include "perceiver/kernels/attention/attention_kernels.h"
#include "perceiver/kernels/attention/backward.h"
#include "perceiver/kernels/attention/stream.h"
#include "python/library/plain_errors.h"

namespace perceiver {
namespace {

using MaybeMask = std::optional<Tensor>;
using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

AttentionInputs checked(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeMask& mask) {
  check_shape(q, {kAny, kAny, kAny, kAny}, "q");
  check_shape(k, {q.size(0), q.size(1), kAny, q.size(3)}, "k");
  check_shape(v, {q.size(0), q.size(1), k.size(2), kAny}, "v");
  if (!at::isFloatingType(q.scalar_type())) {
    fail("q is {}, expected a float dtype", at::toString(q.scalar_type()));
  }
  for (const auto& [x, name] : {std::pair{k, "k"}, {v, "v"}}) {
    if (x.scalar_type() != q.scalar_type() || x.device() != q.device()) {
      fail("{} is {} on {}, expected {} on {} as q is", name, at::toString(x.scalar_type()),
           x.device().str(), at::toString(q.scalar_type()), q.device().str());
    }
  }
  if (mask && mask->defined()) {
    check_shape(*mask, {q.size(0), k.size(2)}, "kv_mask");
    if (mask->scalar_type() != at::kBool) {
      fail("kv_mask is {}, expected bool", at::toString(mask->scalar_type()));
    }
  }
  return {.q = q, .k = k, .v = v, .kv_mask = mask.value_or(Tensor())};
}

double scale_of(const Tensor& q) { return 1.0 / std::sqrt(static_cast<double>(q.size(3))); }

// By the definition: all scores at once.
AttentionResult plain_forward(const AttentionInputs& in) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto dtype = in.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  Tensor scores = at::matmul(in.q, in.k.transpose(2, 3)).to(dtype) * scale_of(in.q);
  if (in.kv_mask.defined()) {
    scores.masked_fill_(in.kv_mask.logical_not().unsqueeze(1).unsqueeze(1), -kInfinity);
  }
  const Tensor log_sum = scores.logsumexp(-1);
  const Tensor from = log_sum.masked_fill(log_sum == -kInfinity, kInfinity);
  const Tensor weights = (scores - from.unsqueeze(-1)).exp().to(in.v.scalar_type());
  return {at::matmul(weights, in.v), log_sum.to(at::kFloat)};
}

// What the forward pass leaves for the backward pass of a traced model.
std::tuple<Tensor, Tensor> attention_with_sums(const Tensor& q, const Tensor& k, const Tensor& v,
                                               const MaybeMask& mask) {
  return plainly([&]() -> std::tuple<Tensor, Tensor> {
    const AttentionInputs in = checked(q, k, v, mask);
    if (!q.is_cpu() || !stream_takes(q.scalar_type())) {
      const AttentionResult result = plain_forward(in);
      return {result.out.contiguous(), result.log_sum.contiguous()};
    }
    Tensor log_sum;
    const Tensor out = attend_stream(
        {.q = q, .k = k, .v = v, .kv_mask = in.kv_mask, .scale = scale_of(q)}, &log_sum);
    return {out.to(q.scalar_type()).contiguous(), log_sum.contiguous()};
  });
}

ThreeTensors attention_backward(const Tensor& grad, const Tensor& q, const Tensor& k,
                                const Tensor& v, const MaybeMask& mask, const Tensor& out,
                                const Tensor& log_sum) {
  return plainly([&]() -> ThreeTensors {
    const AttentionGradients g = attention_gradients(checked(q, k, v, mask), {out, log_sum}, grad);
    return {g.q.contiguous(), g.k.contiguous(), g.v.contiguous()};
  });
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeMask& mask) {
  return plainly([&] { return attend(checked(q, k, v, mask)).contiguous(); });
}

Tensor output_shape(const Tensor& q, const Tensor& v) {
  return at::empty_symint({q.sym_size(0), q.sym_size(1), q.sym_size(2), v.sym_size(3)},
                          v.options());
}

Tensor attention_meta(const Tensor& q, const Tensor&, const Tensor& v, const MaybeMask&) {
  return output_shape(q, v);
}

std::tuple<Tensor, Tensor> with_sums_meta(const Tensor& q, const Tensor&, const Tensor& v,
                                          const MaybeMask&) {
  return {output_shape(q, v), at::empty_symint({q.sym_size(0), q.sym_size(1), q.sym_size(2)},
                                               q.options().dtype(at::kFloat))};
}

ThreeTensors backward_meta(const Tensor&, const Tensor& q, const Tensor& k, const Tensor& v,
                           const MaybeMask&, const Tensor&, const Tensor&) {
  const auto like = [](const Tensor& x) { return at::empty_symint(x.sym_sizes(), x.options()); };
  return {like(q), like(k), like(v)};
}

template <typename Signature>
const c10::TypedOperatorHandle<Signature>& handle(const char* name) {
  static const auto found =
      c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
  return found;
}

struct TracedAttention : torch::autograd::Function<TracedAttention> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& q, const Tensor& k,
                        const Tensor& v, const MaybeMask& mask) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto [out, log_sum] =
        handle<decltype(attention_with_sums)>("perceiver::attention_with_sums").call(q, k, v, mask);
    context->save_for_backward({q, k, v, mask.value_or(Tensor()), out, log_sum});
    return out;
  }

  static std::vector<Tensor> backward(torch::autograd::AutogradContext* context,
                                      const std::vector<Tensor>& grads) {
    const auto saved = context->get_saved_variables();
    const MaybeMask mask = saved[3].defined() ? MaybeMask(saved[3]) : std::nullopt;
    const auto [dq, dk, dv] =
        handle<decltype(attention_backward)>("perceiver::attention_backward")
            .call(grads[0], saved[0], saved[1], saved[2], mask, saved[4], saved[5]);
    return {dq, dk, dv, Tensor()};
  }
};

// Whether somebody only writes down what is called.
bool is_traced(const Tensor& q) {
  return c10::impl::TorchDispatchModeTLS::any_modes_set() ||
         q.key_set().has(c10::DispatchKey::Python) || q.is_meta();
}

Tensor attention_autograd(const Tensor& q, const Tensor& k, const Tensor& v,
                          const MaybeMask& mask) {
  const bool needed =
      at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  if (needed && is_traced(q)) return TracedAttention::apply(q, k, v, mask);
  // Kernels with gradients of their own are chosen by attend().
  if (needed) return attention(q, k, v, mask);
  const at::AutoDispatchBelowADInplaceOrView below;
  return handle<decltype(attention)>("perceiver::attention").call(q, k, v, mask);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(perceiver, m) {
  const std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag};
  m.def("attention(Tensor q, Tensor k, Tensor v, Tensor? kv_mask=None) -> Tensor", tags);
  m.def(
      "attention_with_sums(Tensor q, Tensor k, Tensor v, Tensor? kv_mask=None) -> (Tensor, Tensor)",
      tags);
  m.def(
      "attention_backward(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor? kv_mask, Tensor out, "
      "Tensor log_sum) -> (Tensor, Tensor, Tensor)",
      tags);
}

TORCH_LIBRARY_IMPL(perceiver, CompositeExplicitAutograd, m) {
  m.impl("attention", attention);
  m.impl("attention_with_sums", attention_with_sums);
  m.impl("attention_backward", attention_backward);
}

TORCH_LIBRARY_IMPL(perceiver, Meta, m) {
  m.impl("attention", attention_meta);
  m.impl("attention_with_sums", with_sums_meta);
  m.impl("attention_backward", backward_meta);
}

TORCH_LIBRARY_IMPL(perceiver, Autograd, m) { m.impl("attention", attention_autograd); }

}  // namespace perceiver
