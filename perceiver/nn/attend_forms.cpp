#include "perceiver/nn/attend_forms.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/core/repeated.h"
#include "perceiver/nn/attention.h"
#include "perceiver/nn/fused.h"
#include "perceiver/nn/fused_layer.h"
#include "perceiver/nn/recompute.h"

namespace perceiver {
namespace {

AttendTail tail_of(const AttendParts& p) {
  return {.output = p.o,
          .norm = p.norm_mlp,
          .widen = p.widen,
          .narrow = p.narrow,
          .gelu = p.semantics.gelu};
}

Tensor cross_fused(CrossAttendImpl& module, const Tensor& x_q, const Tensor& x_kv,
                   const AttendMasks& masks, at::ScalarType dtype) {
  const AttendParts p = module.parts();
  // Queries that are the same for every example, as latents are, are projected once.
  const bool repeats = repeats_one_example(x_q);
  const NormedProjections q =
      project_normed({repeats ? x_q.narrow(0, 0, 1) : x_q}, p.norm_q, {p.q}, dtype);
  const NormedProjections kv = project_normed({x_kv}, p.norm_kv, {p.k, p.v}, dtype);
  const auto of_each = [&](const Tensor& x) { return x.expand({x_q.size(0), -1, -1}); };
  const Tensor attended = module.attention()->attend_projected(of_each(q.outputs[0]), kv.outputs[0],
                                                               kv.outputs[1], masks);
  return added_up(
      add_and_mlp(p.query_residual ? of_each(q.passed) : Tensor(), attended, tail_of(p), dtype));
}

// Its result is left for the next norm to add up.
Residual self_fused(const SelfAttendImpl& module, const Residual& z, at::ScalarType dtype) {
  const AttendParts p = module.parts();
  const NormedProjections qkv = project_normed(z, p.norm_q, {p.q, p.k, p.v}, dtype);
  const Tensor attended =
      module.attention()->attend_projected(qkv.outputs[0], qkv.outputs[1], qkv.outputs[2], {});
  return add_and_mlp(qkv.passed, attended, tail_of(p), dtype);
}

template <typename Module>
std::shared_ptr<PackedAttend> form_of(PackedCache& cache, const Module& module) {
  return module.drops() ? nullptr : cache.get(module, [&] { return module.parts(); });
}

}  // namespace

Tensor AttendForms::cross(CrossAttendImpl& module, const Array& x_q, const Array& x_kv,
                          const AttendMasks& masks) {
  if (pass_is_over()) return x_q.materialise();
  const auto packed = form_of(packed_, module);
  const auto dtype = packed || module.drops() ? std::nullopt : fused_dtype(x_q.materialise());
  const auto as_defined = [&] {
    return module.define(x_q.materialise(), x_kv.materialise(), masks);
  };
  if (!packed && !dtype) return as_defined();
  const Tensor out =
      packed ? packed->cross(x_q, x_kv, masks)
             : cross_fused(module, x_q.materialise(), x_kv.materialise(), masks, *dtype);
  if (attention_is_checked()) check_packed(out, as_defined());
  return out;
}

Tensor AttendForms::self(SelfAttendImpl& module, const Tensor& z) {
  if (pass_is_over()) return z;
  const auto packed = form_of(packed_, module);
  const auto dtype = module.drops() ? std::nullopt : fused_dtype(z);
  if (!packed && !dtype) return module.define(z);
  const Tensor out = packed ? packed->self({z}).rows : added_up(self_fused(module, {z}, *dtype));
  if (attention_is_checked()) check_packed(out, module.define(z));
  return out;
}

MeasuredRows AttendForms::self_measured(SelfAttendImpl& module, const MeasuredRows& z) {
  const auto packed = attention_is_checked() ? nullptr : form_of(packed_, module);
  return packed ? packed->self(z) : MeasuredRows{self(module, z.rows)};
}

Tensor OutputForms::cross(CrossAttend attend, const LinearMap& output, const Array& x_q,
                          const Array& x_kv, const AttendMasks& masks) {
  const auto one_by_one = [&] {
    const Tensor x = attended(attend, x_q, x_kv, masks);
    return output.weight.defined() ? linear_layer(x, output.weight, output.bias) : x;
  };
  if (!output.weight.defined() || attend->is_training()) return one_by_one();
  const auto packed = packed_.get(*attend,
                                  [&] {
                                    AttendParts parts = attend->parts();
                                    parts.output = output;
                                    return parts;
                                  },
                                  {output.weight, output.bias});
  if (!packed) return one_by_one();
  const Tensor out = packed->cross(x_q, x_kv, masks);
  if (attention_is_checked()) check_packed(out, one_by_one());
  return out;
}

Tensor attended(CrossAttend attend, const Array& x_q, const Array& x_kv, const AttendMasks& masks) {
  if (!recomputes_now()) return attend(x_q, x_kv, masks);
  return recompute(*attend, {x_q.materialise(), x_kv.materialise(), masks.q, masks.kv},
                   [attend](const std::vector<Tensor>& x) mutable {
                     return attend(x[0], x[1], AttendMasks{.q = x[2], .kv = x[3]});
                   });
}

static Tensor recomputed_in_turn(const std::vector<SelfAttend>& self_attends, Tensor z) {
  for (SelfAttend attend : self_attends) {
    z = recompute(*attend, {z},
                  [attend](const std::vector<Tensor>& x) mutable { return attend(x[0]); });
  }
  return z;
}

Tensor attended_in_turn(const std::vector<SelfAttend>& self_attends, Tensor z) {
  if (recomputes_now()) return recomputed_in_turn(self_attends, z);
  const bool drops = std::ranges::any_of(self_attends, [](const auto& s) { return s->drops(); });
  const auto dtype = drops || attention_is_checked() ? std::nullopt : fused_dtype(z);
  if (!dtype) {
    MeasuredRows rows{z};
    for (SelfAttend s : self_attends) rows = s->forms().self_measured(*s, rows);
    return rows.rows;
  }
  Residual residual{z};
  for (const SelfAttend& s : self_attends) residual = self_fused(*s, residual, *dtype);
  return added_up(residual);
}

}  // namespace perceiver
