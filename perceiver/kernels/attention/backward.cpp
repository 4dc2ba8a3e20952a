#include "perceiver/kernels/attention/backward.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "perceiver/kernels/attention/query_blocks.h"
#include "perceiver/kernels/attention/score_blocks_torch.h"

namespace perceiver {
namespace {

// The attention weights of some queries, [B, H, n, M].
Tensor recompute_weights(const AttentionInputs& in, const Tensor& q, const Tensor& log_sum,
                         double scale) {
  Tensor scores = at::matmul(q, in.k.transpose(2, 3));
  if (cuda_scores_take(scores)) {
    cuda_recompute_weights(scores, in.kv_mask, log_sum, scale);
    return scores;
  }
  scores.mul_(scale);
  if (in.kv_mask.defined()) {
    const Tensor hidden = in.kv_mask.logical_not().view({q.size(0), 1, 1, in.k.size(2)});
    scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  }
  // Of a query without keys the scores are -inf, too: exp(-inf - inf) gives it weights of 0.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor from = log_sum.masked_fill(log_sum == -kInfinity, kInfinity);
  return scores.sub_(from.unsqueeze(-1)).exp_();
}

// dS = P (dP - delta) scale, in the memory of dP, the gradient of the weights P.
Tensor score_gradient(const Tensor& p, const Tensor& delta, Tensor dp, double scale) {
  if (!cuda_scores_take(dp)) return dp.sub_(delta.unsqueeze(-1)).mul_(p).mul_(scale);
  cuda_score_gradient(p, delta, dp, scale);
  return dp;
}

struct AttendFunction : torch::autograd::Function<AttendFunction> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& q, const Tensor& k,
                        const Tensor& v, const std::optional<Tensor>& kv_mask, AttentionForward run,
                        AttentionBackward backward) {
    const AttentionResult result =
        run({.q = q, .k = k, .v = v, .kv_mask = kv_mask.value_or(Tensor())});
    context->save_for_backward({q, k, v, result.out, result.log_sum});
    context->saved_data["kv_mask"] = kv_mask;
    context->saved_data["backward"] = reinterpret_cast<int64_t>(backward);
    return result.out;
  }

  static std::vector<Tensor> backward(torch::autograd::AutogradContext* context,
                                      const std::vector<Tensor>& grads) {
    const auto saved = context->get_saved_variables();
    const AttentionInputs in{
        .q = saved[0],
        .k = saved[1],
        .v = saved[2],
        .kv_mask = context->saved_data["kv_mask"].toOptional<Tensor>().value_or(Tensor())};
    at::NoGradGuard no_grad;
    const auto run = reinterpret_cast<AttentionBackward>(context->saved_data["backward"].toInt());
    const AttentionGradients g = run(in, {saved[3], saved[4]}, grads[0]);
    return {g.q, g.k, g.v, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

int64_t queries_at_once(const AttentionCase& c) {
  return queries_of_block(c.device.is_cuda() ? kScoresOfGpu : kScoresOfCpu,
                          c.batch * c.heads * c.keys);
}

int64_t queries_at_once(const AttentionInputs& in) {
  return queries_at_once({.device = in.q.device(),
                          .batch = in.q.size(0),
                          .heads = in.q.size(1),
                          .keys = in.k.size(2)});
}

AttentionGradients attention_gradients(const AttentionInputs& in, const AttentionResult& result,
                                       const Tensor& grad) {
  at::NoGradGuard no_grad;
  const double scale = 1.0 / std::sqrt(static_cast<double>(in.q.size(3)));
  AttentionGradients g{at::empty_like(in.q), at::zeros_like(in.k, at::kFloat),
                       at::zeros_like(in.v, at::kFloat)};
  for_each_block(in.q.size(2), queries_at_once(in), [&](int64_t begin, int64_t count) {
    const auto rows = [&](const Tensor& x) { return x.narrow(2, begin, count); };
    const Tensor q = rows(in.q), dout = rows(grad);
    const Tensor p = recompute_weights(in, q, rows(result.log_sum), scale);
    g.v.add_(at::matmul(p.transpose(2, 3), dout));
    const Tensor delta = (dout * rows(result.out)).sum(-1, /*keepdim=*/false, at::kFloat);
    const Tensor ds = score_gradient(p, delta, at::matmul(dout, in.v.transpose(2, 3)), scale);
    rows(g.q).copy_(at::matmul(ds, in.k));
    g.k.add_(at::matmul(ds.transpose(2, 3), q));
  });
  g.k = g.k.to(in.k.scalar_type());
  g.v = g.v.to(in.v.scalar_type());
  return g;
}

Tensor attend_with_backward(const AttentionInputs& in, AttentionForward forward,
                            AttentionBackward backward) {
  const bool needed = at::GradMode::is_enabled() &&
                      (in.q.requires_grad() || in.k.requires_grad() || in.v.requires_grad());
  if (!needed) return forward(in).out;
  const auto mask = in.kv_mask.defined() ? std::optional(in.kv_mask) : std::nullopt;
  return AttendFunction::apply(in.q, in.k, in.v, mask, forward, backward);
}

}  // namespace perceiver
