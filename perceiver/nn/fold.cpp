#include "perceiver/nn/fold.h"

#include <ATen/ATen.h>

namespace perceiver {
namespace {

// Products of weights are formed in float64 and rounded once.
Tensor wide(const Tensor& x) { return x.detach().to(at::kDouble); }
LinearMap rounded(const LinearMap& a) { return {a.weight.to(at::kFloat), a.bias.to(at::kFloat)}; }

LinearMap wide_fold(const LayerNorm& norm, const Linear& linear) {
  const Tensor weight = wide(linear->weight);
  return {weight * wide(norm->weight), at::mv(weight, wide(norm->bias)) + wide(linear->bias)};
}

// outer(inner(x))
LinearMap composed(const LinearMap& outer, const LinearMap& inner) {
  return {at::mm(outer.weight, inner.weight), at::mv(outer.weight, inner.bias) + outer.bias};
}

LinearMap wide_map(const Linear& linear) { return {wide(linear->weight), wide(linear->bias)}; }

LinearMap without_bias(const Tensor& weight) {
  return {weight, weight.new_zeros({weight.size(0)})};
}

}  // namespace

bool are_usual(const AttendParts& parts, const Tensor& x_q) {
  const Tensor& usual = parts.queries;
  return usual.defined() && x_q.const_data_ptr() == usual.const_data_ptr() &&
         x_q.scalar_type() == usual.scalar_type() && x_q.size(1) <= usual.size(0) &&
         x_q.size(2) == usual.size(1) && x_q.stride(1) == usual.stride(0) &&
         x_q.stride(2) == usual.stride(1) && (x_q.size(0) == 1 || x_q.stride(0) == 0);
}

bool folds_output(const AttendParts& parts) {
  return parts.output.weight.defined() && parts.output.weight.size(0) < parts.q->weight.size(1);
}

LinearMap folded(const LayerNorm& norm, const Linear& linear) {
  return rounded(wide_fold(norm, linear));
}

LinearMap as_map(const Linear& linear) { return rounded(wide_map(linear)); }

LinearMap side_by_side(const LinearMap& a, const LinearMap& b) {
  return {at::cat({a.weight, b.weight}), at::cat({a.bias, b.bias})};
}

AbsorbedKeys absorb_keys(const AttendParts& p) {
  const LinearMap q = wide_fold(p.norm_q, p.q), k = wide_fold(p.norm_kv, p.k);
  const LinearMap v = wide_fold(p.norm_kv, p.v), o = wide_map(p.o);
  const LinearMap output = composed(o, v);
  return {rounded(composed(without_bias(k.weight.t()), q)), rounded(output),
          (output.bias - o.bias).to(at::kFloat)};
}

AbsorbedQueries absorb_queries(const AttendParts& p) {
  const LinearMap q = wide_fold(p.norm_q, p.q), k = wide_fold(p.norm_kv, p.k);
  const LinearMap v = wide_fold(p.norm_kv, p.v), o = wide_map(p.o);
  return {rounded(composed(without_bias(q.weight.t()), k)),
          rounded(composed(without_bias(o.weight), v)),
          rounded(composed(without_bias(q.bias.unsqueeze(0)), k)), o.bias.to(at::kFloat)};
}

FoldedOutput fold_output(const AttendParts& p) {
  const LinearMap output = {wide(p.output.weight), wide(p.output.bias)};
  const LinearMap hidden = composed(output, wide_map(p.narrow));
  return {rounded({output.weight, hidden.bias}), rounded(without_bias(hidden.weight))};
}

LinearMap absorb_output(const AttendParts& p) {
  const LinearMap output = {wide(p.output.weight), wide(p.output.bias)};
  const LinearMap of_sum = {output.weight, composed(output, wide_map(p.narrow)).bias};
  return rounded(composed(of_sum, composed(wide_map(p.o), wide_fold(p.norm_kv, p.v))));
}

AttendForm cheapest_form(const AttendParts& p, int64_t queries, int64_t keys) {
  if (p.num_heads > 1) return AttendForm::kPlain;
  const int64_t qk = p.q->weight.size(0), v = p.v->weight.size(0);
  const int64_t q_channels = p.q->weight.size(1), kv_channels = p.k->weight.size(1);
  const int64_t pairs = queries * keys;
  const int64_t plain = (queries * q_channels + keys * kv_channels + pairs) * (qk + v);
  const int64_t absorbed_keys = 2 * (queries * q_channels + pairs) * kv_channels;
  const int64_t absorbed_queries = 2 * (keys * kv_channels + pairs) * q_channels;
  if (absorbed_keys < plain && absorbed_keys <= absorbed_queries) return AttendForm::kAbsorbedKeys;
  return absorbed_queries < plain ? AttendForm::kAbsorbedQueries : AttendForm::kPlain;
}

}  // namespace perceiver
