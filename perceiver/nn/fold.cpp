#include "perceiver/nn/fold.h"

#include <ATen/ATen.h>

#include <cmath>

#include "perceiver/kernels/norm/epsilon.h"

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

// Modules of these weights.
Linear as_linear(const LinearMap& map) {
  const ConstructScope scope(Construct::kWithoutMemory);
  Linear linear(map.weight.size(1), map.weight.size(0));
  linear->weight = map.weight.to(at::kFloat), linear->bias = map.bias.to(at::kFloat);
  return linear;
}

LayerNorm plain_norm(int64_t channels, const at::TensorOptions& options) {
  const ConstructScope scope(Construct::kWithoutMemory);
  LayerNorm norm(channels);
  norm->weight = at::ones({channels}, options), norm->bias = at::zeros({channels}, options);
  return norm;
}

// [n, n - 1]: columns are orthonormal, and each sums to zero. It is the reflection that swaps the
// first axis and the diagonal, without its first column.
Tensor zero_sums(int64_t n) {
  Tensor axis = at::full({n}, -1.0 / std::sqrt(static_cast<double>(n)), at::kDouble);
  axis[0] += 1.0;
  const Tensor reflection =
      at::eye(n, at::kDouble) - at::outer(axis, axis) * (2.0 / axis.dot(axis));
  return reflection.narrow(1, 1, n - 1);
}

}  // namespace

AttendShape shape_of(const AttendParts& p) {
  return {.heads = p.num_heads,
          .q_channels = p.q->weight.size(1),
          .kv_channels = p.k->weight.size(1),
          .qk_channels = p.q->weight.size(0),
          .v_channels = p.v->weight.size(0),
          .hidden = p.widen->weight.size(0),
          .results = p.o->weight.size(0),
          .outputs = p.output.weight.defined() ? p.output.weight.size(0) : 0,
          .query_residual = p.query_residual,
          .narrowed = are_narrowed(p),
          .tanh_gelu = p.semantics.gelu == Gelu::kTanh};
}

bool folds_output(const AttendShape& s) {
  return s.narrowed || (s.outputs > 0 && s.outputs < s.results);
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

LinearMap composed_output(const LinearMap& first, const Linear& second) {
  return rounded(composed(wide_map(second), {wide(first.weight), wide(first.bias)}));
}

// The same of the values attended to.
static LinearMap output_of_attended(const AttendParts& p) {
  if (are_narrowed(p)) return {wide(p.output_of_attended.weight), wide(p.output_of_attended.bias)};
  const LinearMap output = {wide(p.output.weight), wide(p.output.bias)};
  const LinearMap of_sum = {output.weight, composed(output, wide_map(p.narrow)).bias};
  return composed(of_sum, wide_map(p.o));
}

LinearMap absorb_output(const AttendParts& p) {
  return rounded(composed(output_of_attended(p), wide_fold(p.norm_kv, p.v)));
}

NarrowNorm narrow_norm(const LinearMap& given) {
  const at::Device device = given.weight.device();
  const Tensor all = at::cat({given.weight, given.bias.unsqueeze(1)}, 1).to(at::kCPU, at::kDouble);
  const auto [q, r] = at::linalg_qr(all - all.mean(0, /*keepdim=*/true));
  const int64_t n = q.size(1) + 1, inputs = given.weight.size(1);
  const double factor = std::sqrt(static_cast<double>(n) / static_cast<double>(all.size(0)));
  const Tensor isometry = zero_sums(n);
  const Tensor map = at::mm(isometry, r).mul_(factor).to(device);
  return {{map.narrow(1, 0, inputs), map.select(1, inputs)},
          at::mm(q, isometry.t()).div_(factor).to(device)};
}

// A norm's channels beside those that its rows are made of.
constexpr int64_t kMore = 2;

bool narrows(const AttendShape& s, int64_t filling) {
  return s.heads == 1 && !s.query_residual && s.outputs > 0 && filling > kMore &&
         s.v_channels + kMore < s.results && s.outputs < s.results;
}

bool outputs_ride(const AttendShape& s) {
  return folds_output(s) && !s.query_residual &&
         (s.narrowed || padded_channels(s.results + s.outputs) == padded_channels(s.results));
}

AttendShape narrowed(const AttendShape& shape, int64_t filling) {
  AttendShape s = shape;
  s.q_channels += kMore - filling;
  s.results = s.v_channels + kMore;
  s.narrowed = true;
  return s;
}

NarrowedAttend narrowed(const AttendParts& p, const Tensor& filling) {
  const int64_t channels = p.q->weight.size(1), own = channels - filling.size(0);
  const at::TensorOptions options = filling.options().dtype(at::kDouble);
  const NarrowNorm query =
      narrow_norm({at::eye(channels, own, options), at::constant_pad_nd(wide(filling), {own, 0})});
  const NarrowNorm result = narrow_norm(wide_map(p.o));
  const LinearMap q = wide_fold(p.norm_q, p.q), widen = wide_fold(p.norm_mlp, p.widen);
  const auto norm_of = [&](const NarrowNorm& narrow) {
    return plain_norm(narrow.map.weight.size(0), filling.options().dtype(at::kFloat));
  };
  AttendParts parts = p;
  parts.norm_q = norm_of(query);
  parts.q = as_linear({at::mm(q.weight, query.back), q.bias});
  parts.o = as_linear(result.map);
  parts.norm_mlp = norm_of(result);
  parts.widen = as_linear({at::mm(widen.weight, result.back), widen.bias});
  parts.output_of_attended = rounded(output_of_attended(p));
  return {parts, rounded(query.map)};
}

RowTables tabulate(const AttendParts& p, const LearnedSums& sums) {
  const LinearMap kv = side_by_side(wide_fold(p.norm_kv, p.k), wide_fold(p.norm_kv, p.v));
  const auto centred = [](const Tensor& x) {
    const Tensor all = wide(x);
    return all - all.mean(1, /*keepdim=*/true);
  };
  const auto squares = [](const Tensor& x) { return x.square().sum(1, /*keepdim=*/true); };
  const Tensor ids = centred(sums.vectors), places = centred(sums.places);
  const Tensor variances =
      (2.0 * at::mm(ids, places.t()) + squares(ids) + squares(places).t()) / ids.size(1);
  const auto table = [&](const Tensor& x) { return at::mm(x, kv.weight.t()).to(at::kFloat); };
  return {table(ids), table(places), (variances + kNormEpsilon).rsqrt().to(at::kFloat),
          kv.bias.to(at::kFloat)};
}

bool tabulates(const AttendParts& p, int64_t queries, const LearnedSums& x_kv) {
  constexpr int64_t kMostRows = 4096;
  return x_kv.vectors.size(0) + x_kv.places.size(0) <= kMostRows &&
         cheapest_form(shape_of(p), queries, x_kv.ids.size(1)) == AttendForm::kPlain;
}

AttendForm cheapest_form(const AttendShape& s, int64_t queries, int64_t keys) {
  if (s.heads > 1) return AttendForm::kPlain;
  if (s.narrowed) return AttendForm::kAbsorbedQueries;
  const int64_t pairs = queries * keys;
  const int64_t plain =
      (queries * s.q_channels + keys * s.kv_channels + pairs) * (s.qk_channels + s.v_channels);
  const int64_t absorbed_keys = 2 * (queries * s.q_channels + pairs) * s.kv_channels;
  const int64_t absorbed_queries = 2 * (keys * s.kv_channels + pairs) * s.q_channels;
  if (absorbed_keys < plain && absorbed_keys <= absorbed_queries) return AttendForm::kAbsorbedKeys;
  return absorbed_queries < plain ? AttendForm::kAbsorbedQueries : AttendForm::kPlain;
}

}  // namespace perceiver
