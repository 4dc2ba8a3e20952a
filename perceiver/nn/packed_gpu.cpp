#include <ATen/ATen.h>

#include <cmath>
#include <mutex>
#include <optional>

#include "perceiver/core/repeated.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_torch.h"
#include "perceiver/kernels/norm/normalised_rows.h"
#include "perceiver/nn/attend_plan.h"
#include "perceiver/nn/kept_for.h"
#include "perceiver/nn/packed_forms.h"
#include "perceiver/nn/padded_linear.h"

namespace perceiver {
namespace {

class PackedForGpu : public PackedAttend {
 public:
  PackedForGpu(const AttendParts& parts, at::ScalarType dtype)
      : parts_(parts),
        shape_(shape_of(parts)),
        device_(parts.q->weight.device()),
        dtype_(dtype),
        query_channels_(parts.q->weight.size(1)),
        channels_(parts.o->weight.size(0)),
        padded_(padded_channels(channels_)),
        hidden_(padded_channels(parts.widen->weight.size(0))),
        widen_(folded(parts.norm_mlp, parts.widen), dtype, hidden_, padded_) {}

  Tensor cross(const Array& x_q, const Array& x_kv, const AttendMasks& masks) override {
    return with_output(attend(x_q, x_kv, masks)).to(x_q.dtype());
  }

  MeasuredRows self(const MeasuredRows& x) override {
    const PaddedNormedLinear& qkv = made(qkv_, [&] {
      const LinearMap map = side_by_side(folded(parts_.norm_q, parts_.q), key_value_map());
      return PaddedNormedLinear(map, dtype_, map.weight.size(0), padded_);
    });
    const MeasuredRows z = x.moments.defined() ? x : MeasuredRows{x.rows.to(dtype_)};
    const int64_t qk = parts_.q->weight.size(0);
    const Tensor all = qkv.forward_norm(z);
    const AttendPlan plan = planned(z.rows.size(0), z.rows.size(1), z.rows.size(1), {});
    const Tensor out =
        attend_heads(plan, all.narrow(2, 0, qk), all.narrow(2, qk, all.size(2) - qk), {});
    const MeasuredRows sum = with_mlp(added(output_layer(), out, z.rows));
    const at::ScalarType dtype = x.rows.scalar_type();
    if (padded_ == channels_ && dtype == dtype_) return sum;
    return {sum.rows.narrow(2, 0, channels_).to(dtype)};
  }

 private:
  // What attention adds, on top of the queries, [B, N, P or more]; where they came with it, the
  // same normalised, [B, N, P], and the folded output's part of it, from riders_at() on.
  struct Added {
    MeasuredRows sum;
    Tensor normed = {}, of_sum = {};
  };

  Added attend(const Array& x_q, const Array& x_kv, const AttendMasks& masks) {
    const AttendPlan plan = planned(x_q.batch(), x_q.elements(), x_kv.elements(), masks);
    switch (plan.form) {
      case AttendForm::kPlain:
        return attend_plain(plan, x_q, x_kv, masks);
      case AttendForm::kAbsorbedKeys:
        return attend_absorbed_keys(plan, x_q, x_kv, masks);
      case AttendForm::kAbsorbedQueries:
        return attend_absorbed_queries(plan, x_q, x_kv, masks);
    }
    return {};
  }

  AttendPlan planned(int64_t batch, int64_t queries, int64_t keys, const AttendMasks& masks) const {
    AttentionCase c = attention_case(shape_, queries, keys);
    c.device = device_, c.dtype = dtype_, c.batch = batch, c.masked = masks.kv.defined();
    return told(plan_for_gpu(shape_, c));
  }

  // Attention of a single head, counted as the module's own would be.
  Tensor attend_single(const AttendPlan& plan, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor& kv_mask) const {
    AttentionCase c = plan.attention;
    c.qk_channels = shape_.qk_channels, c.v_channels = shape_.v_channels;
    count_attention(c, plan.kernel);
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape_.qk_channels));
    return attend_wide(repeats_one_example(q) ? q.contiguous() : q, k, v, kv_mask,
                       {plan.kernel, scale});
  }

  // Only the form that is used is made, when it is first used.
  template <typename T, typename Make>
  const T& made(std::optional<T>& slot, const Make& make) {
    const std::lock_guard lock(making_);
    if (!slot) slot = make();
    return *slot;
  }
  template <typename T, typename Make>
  T made(KeptFor<T>& kept, const std::vector<Tensor>& of, const Make& make) {
    const std::lock_guard lock(making_);
    auto& slot = kept.slot(of);
    if (!slot) slot = make();
    return *slot;
  }

  LinearMap key_value_map() const {
    return side_by_side(folded(parts_.norm_kv, parts_.k), folded(parts_.norm_kv, parts_.v));
  }

  // In bfloat16 each table is rounded once, which is less than rows and weights of a product are.
  // Float16 has too few exponents for vectors that are not normalised.
  RowTables narrow_tables(const LearnedSums& sums) const {
    RowTables t = tabulate(parts_, sums);
    if (dtype_ != at::kBFloat16) return t;
    return {t.of_ids.to(dtype_), t.of_places.to(dtype_), t.scales, t.bias};
  }

  // A layer over normed() rows.
  PaddedLinear inner(const LinearMap& map) const {
    return {map, dtype_, map.weight.size(0), padded_channels(map.weight.size(1))};
  }

  const PaddedLinear& output_layer() {
    return made(output_, [&] {
      return PaddedLinear(as_map(parts_.o), dtype_, padded_, parts_.o->weight.size(1));
    });
  }

  // x_q, padded
  Tensor residual(const Array& x_q) const {
    const Tensor x = x_q.materialise().to(dtype_);
    return padded_ == channels_ ? x : at::constant_pad_nd(x, {0, padded_ - channels_});
  }

  // `attended` through its output layer, and on top of the queries.
  Added added(const PaddedLinear& output, const Tensor& attended, const Array& x_q) const {
    if (!parts_.query_residual) return {{output.forward(attended)}};
    if (x_q.repeats()) return added_to_queries(output.forward(attended), x_q);
    return {output.forward_measured(attended, residual(x_q), channels_)};
  }

  Added added_to_queries(const Tensor& out, const Array& x_q) const {
    if (!parts_.query_residual) return {{out.narrow(2, 0, padded_)}};
    if (out.size(2) != channels_) return {{out.narrow(2, 0, padded_) + residual(x_q)}};
    const AddedRows rows = add_normalised(x_q.materialise().to(dtype_), out);
    return {{rows.sum}, rows.normed};
  }

  // The MLP's hidden layer. Rows are whole 16 bytes, padding and all: half the time of rows
  // without.
  Tensor widened(const Added& a) const {
    const Gelu gelu = parts_.semantics.gelu;
    if (a.normed.defined()) return widen_.forward_gelu(a.normed, gelu);
    return widen_.forward_norm_gelu(a.sum, gelu);
  }

  // The MLP on top of the sum: [B, N, P]
  MeasuredRows with_mlp(const Added& a) {
    const PaddedLinear& narrow = made(
        narrow_, [&] { return PaddedLinear(as_map(parts_.narrow), dtype_, padded_, hidden_); });
    return narrow.forward_measured(widened(a), a.sum.rows.narrow(2, 0, padded_), channels_);
  }

  const FoldedOutput& folded_output() {
    return made(folded_output_, [&] { return fold_output(parts_); });
  }

  // The MLP, and the output layer where the parts have one: [B, N, D or E]
  Tensor with_output(const Added& a) {
    const LinearMap& output = parts_.output;
    if (folds_output(shape_)) return with_folded_output(a);
    const Tensor z = with_mlp(a).rows.narrow(2, 0, channels_);
    if (!output.weight.defined()) return z;
    return at::linear(z, output.weight.to(dtype_), output.bias.to(dtype_));
  }

  // Where a kernel does all of it, the weights of the MLP with its folded output.
  struct NarrowMlp {
    NarrowMlpLayers layers;
    Tensor packed = {};  // undefined: there is no kernel
  };
  const NarrowMlp& narrow_mlp(const FoldedOutput& folded) {
    return made(narrow_mlp_, [&] {
      const PaddedLinear last(folded.of_hidden, dtype_, num_outputs(), hidden_);
      NarrowMlp mlp{
          {{widen_.weight, widen_.bias, widen_.column_sums, channels_}, last.weight, last.bias}};
      if (parts_.semantics.gelu == Gelu::kTanh && cuda_narrow_mlp_takes(mlp.layers)) {
        mlp.packed = cuda_packed_narrow_mlp(mlp.layers);
      }
      return mlp;
    });
  }

  Tensor with_folded_output(const Added& a) {
    const Tensor sum = a.sum.rows.narrow(2, 0, padded_);
    const int64_t outputs = num_outputs(), padded = padded_channels(outputs);
    const FoldedOutput& folded = folded_output();
    if (a.of_sum.defined()) {
      const NarrowMlp& mlp = narrow_mlp(folded);
      if (mlp.packed.defined()) {
        return cuda_narrow_mlp(sum, mlp.layers, mlp.packed,
                               a.of_sum.narrow(2, riders_at(), outputs));
      }
    }
    const Tensor hidden = widened(a);
    if (a.of_sum.defined()) {
      const PaddedLinear& of_hidden = made(of_hidden_, [&] {
        const LinearMap& map = folded.of_hidden;
        return PaddedLinear({at::constant_pad_nd(map.weight, {0, 0, riders_at(), 0}),
                             at::constant_pad_nd(map.bias, {riders_at(), 0})},
                            dtype_, a.of_sum.size(2), hidden_);
      });
      return of_hidden.forward_added(hidden, a.of_sum).narrow(2, riders_at(), outputs);
    }
    const PaddedLinear& of_sum =
        made(of_sum_, [&] { return PaddedLinear(folded.of_sum, dtype_, padded, padded_); });
    const PaddedLinear& of_hidden = made(
        of_hidden_alone_, [&] { return PaddedLinear(folded.of_hidden, dtype_, padded, hidden_); });
    return of_hidden.forward_added(hidden, of_sum.forward(sum)).narrow(2, 0, outputs);
  }

  // q [B, N, H * F], kv [B, M, H * (F + V)], keys first -> [B, N, H * V]
  Tensor attend_heads(const AttendPlan& plan, const Tensor& q, const Tensor& kv,
                      const AttendMasks& masks) const {
    const int64_t heads = parts_.num_heads, qk = q.size(2);
    const auto split = [&](const Tensor& x) {
      return x.unflatten(2, {heads, x.size(2) / heads}).transpose(1, 2);
    };
    const Tensor v = split(kv.narrow(2, qk, kv.size(2) - qk));
    Tensor out = perceiver::attend(
        {.q = split(q), .k = split(kv.narrow(2, 0, qk)), .v = v, .kv_mask = masks.kv}, plan.kernel);
    out = out.transpose(1, 2).flatten(2);
    if (masks.kv.defined() && !parts_.semantics.zero_masked_rows) {
      const Tensor mean = v.mean(2).flatten(1).unsqueeze(1);
      out = at::where(masks.kv.any(1).view({-1, 1, 1}), out, mean);
    }
    return with_queries_masked(out, masks);
  }

  Tensor with_queries_masked(const Tensor& x, const AttendMasks& masks) const {
    if (!masks.q.defined() || !parts_.semantics.query_mask) return x;
    return x.masked_fill(masks.q.logical_not().unsqueeze(-1), 0.0);
  }

  // bool [B, N or 1, 1]: where the attention's result is to be zero; undefined: nowhere.
  Tensor queries_of_nothing(const AttendMasks& masks) const {
    Tensor nothing;
    if (masks.kv.defined() && parts_.semantics.zero_masked_rows) {
      nothing = masks.kv.any(1).logical_not().view({-1, 1, 1});
    }
    if (masks.q.defined() && parts_.semantics.query_mask) {
      const Tensor no_query = masks.q.logical_not().unsqueeze(-1);
      nothing = nothing.defined() ? nothing.logical_or(no_query) : no_query;
    }
    return nothing;
  }

  // Elements as inner() layers take them. The constant meets weights of zero.
  Tensor normed(const Array& x) const {
    const int64_t padded = padded_channels(x.channels());
    return x.normalised(dtype_, padded, padded > x.channels());
  }

  // Learned rows are projected once and for all; queries that are the same for every example once.
  Tensor projected_queries(const PaddedLinear& layer, const Array& x_q, KeptFor<Tensor>& kept) {
    const auto of_each = [&](const Tensor& q) { return q.expand({x_q.batch(), -1, -1}); };
    if (const auto learned = x_q.learned_rows()) {
      const Tensor all = made(kept, {learned->rows},
                              [&] { return layer.forward(normed(learned->rows.unsqueeze(0))); });
      return of_each(all.narrow(1, learned->first, x_q.elements()));
    }
    return x_q.repeats() ? of_each(layer.forward(normed(x_q.repeated(1))))
                         : layer.forward(normed(x_q));
  }

  Added attend_plain(const AttendPlan& plan, const Array& x_q, const Array& x_kv,
                     const AttendMasks& masks) {
    const PaddedLinear& q = made(query_, [&] { return inner(folded(parts_.norm_q, parts_.q)); });
    const Tensor kv = keys_and_values(x_kv, x_q.elements());
    const Tensor out = attend_heads(plan, projected_queries(q, x_q, learned_q_), kv, masks);
    return added(output_layer(), out, x_q);
  }

  // [B, M, H * (F + V)], keys first: looked up where that is less work than to multiply
  Tensor keys_and_values(const Array& x_kv, int64_t queries) {
    const auto sums = x_kv.learned_sums();
    if (sums && tabulates(parts_, queries, *sums)) {
      const RowTables tables =
          made(tables_, {sums->vectors, sums->places}, [&] { return narrow_tables(*sums); });
      return looked_up(tables, sums->ids, dtype_);
    }
    const PaddedLinear& kv = made(key_value_, [&] { return inner(key_value_map()); });
    return kv.forward(normed(x_kv));
  }

  Added attend_absorbed_keys(const AttendPlan& plan, const Array& x_q, const Array& x_kv,
                             const AttendMasks& masks) {
    const int64_t padded = padded_channels(x_kv.channels());
    const AbsorbedKeys& absorbed = made(absorbed_keys_, [&] { return absorb_keys(parts_); });
    const PaddedLinear& query = made(query_over_keys_, [&] {
      return PaddedLinear(absorbed.query, dtype_, padded, padded_channels(query_channels_));
    });
    const PaddedLinear& output = made(
        output_of_keys_, [&] { return PaddedLinear(absorbed.output, dtype_, padded_, padded); });
    const Tensor keys = normed(x_kv);
    Tensor out = attend_single(plan, projected_queries(query, x_q, learned_over_keys_), keys, keys,
                               masks.kv);
    if (masks.kv.defined() && !parts_.semantics.zero_masked_rows) {
      const Tensor any_key = masks.kv.any(1).view({-1, 1, 1});
      out = at::where(any_key, out, keys.mean(1, /*keepdim=*/true));
    }
    // Where no key is attended to there is no value, and none of its bias.
    const Tensor nothing = queries_of_nothing(masks);
    if (!nothing.defined()) return added(output, out, x_q);
    const Tensor bias =
        at::constant_pad_nd(absorbed.output.bias - absorbed.value_bias, {0, padded_ - channels_});
    return added_to_queries(at::where(nothing, bias.to(dtype_), output.forward(out)), x_q);
  }

  // Where the folded output's part of the sum is that rides behind the values.
  int64_t riders_at() const { return channels_ % 8; }
  int64_t num_outputs() const { return parts_.output.weight.size(0); }

  int64_t key_channels() const { return absorbed_key_channels(query_channels_); }

  // Keys and values of absorbed queries, side by side.
  PaddedLinear absorbed_layer(const AbsorbedQueries& absorbed, int64_t in) const {
    // A query's weights sum to one, so the output's bias may ride with the values.
    LinearMap values{absorbed.values.weight, absorbed.values.bias + absorbed.output_bias};
    if (outputs_ride(shape_)) values = side_by_side(values, absorb_output(parts_));
    const LinearMap keys = side_by_side(absorbed.keys, absorbed.key_bias);
    const int64_t more = key_channels() - keys.weight.size(0);
    const LinearMap filled{at::constant_pad_nd(keys.weight, {0, 0, 0, more}),
                           at::constant_pad_nd(keys.bias, {0, more})};
    const LinearMap all = side_by_side(filled, values);
    return {all, dtype_, padded_channels(all.weight.size(0)), in};
  }

  Added attend_absorbed_queries(const AttendPlan& plan, const Array& x_q, const Array& x_kv,
                                const AttendMasks& masks) {
    const int64_t in = padded_channels(x_kv.channels()), keys = key_channels();
    const AbsorbedQueries& absorbed =
        made(absorbed_queries_, [&] { return absorb_queries(parts_); });
    const PaddedLinear& layer = made(keys_values_, [&] { return absorbed_layer(absorbed, in); });
    const Tensor kv = layer.forward(normed(x_kv)), v = kv.narrow(2, keys, kv.size(2) - keys);
    const Tensor q = x_q.normalised(dtype_, keys, /*constant=*/true);
    Tensor out = attend_single(plan, q, kv.narrow(2, 0, keys), v, masks.kv);
    if (masks.kv.defined() && !parts_.semantics.zero_masked_rows) {
      out = at::where(masks.kv.any(1).view({-1, 1, 1}), out, v.mean(1, /*keepdim=*/true));
    }
    const Tensor nothing = queries_of_nothing(masks);
    if (nothing.defined()) {
      // What rides is lost here, and of narrowed parts it is in no other place.
      TORCH_INTERNAL_ASSERT(!are_narrowed(parts_));
      const Tensor bias = at::constant_pad_nd(absorbed.output_bias, {0, v.size(2) - channels_});
      return added_to_queries(at::where(nothing, bias.to(dtype_), out), x_q);
    }
    Added sum = added_to_queries(out, x_q);
    if (outputs_ride(shape_)) {
      sum.of_sum =
          out.narrow(2, channels_ - riders_at(), padded_channels(riders_at() + num_outputs()));
    }
    return sum;
  }

  AttendParts parts_;
  AttendShape shape_;
  Hardware device_;
  at::ScalarType dtype_;
  int64_t query_channels_;     // of narrowed parts these are not as many as
  int64_t channels_, padded_;  // the results'
  int64_t hidden_;             // of the MLP, padded
  std::mutex making_;
  PaddedNormedLinear widen_;
  std::optional<PaddedLinear> narrow_;
  std::optional<FoldedOutput> folded_output_;
  std::optional<NarrowMlp> narrow_mlp_;
  std::optional<PaddedLinear> of_sum_, of_hidden_, of_hidden_alone_;
  std::optional<PaddedNormedLinear> qkv_;
  std::optional<PaddedLinear> query_, key_value_, output_;
  KeptFor<RowTables> tables_;
  std::optional<AbsorbedKeys> absorbed_keys_;
  std::optional<PaddedLinear> query_over_keys_, output_of_keys_;
  KeptFor<Tensor> learned_q_, learned_over_keys_;  // learned rows, projected
  std::optional<AbsorbedQueries> absorbed_queries_;
  std::optional<PaddedLinear> keys_values_;
};

}  // namespace

std::shared_ptr<PackedAttend> pack_for_gpu(const AttendParts& parts, at::ScalarType dtype) {
  return std::make_shared<PackedForGpu>(parts, dtype);
}

}  // namespace perceiver
