#include <ATen/ATen.h>

#include <cmath>
#include <mutex>
#include <optional>

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/attention/stream.h"
#include "perceiver/kernels/linear/panel_linear.h"
#include "perceiver/kernels/norm/epsilon.h"
#include "perceiver/nn/attend_plan.h"
#include "perceiver/nn/kept_for.h"
#include "perceiver/nn/packed_forms.h"

namespace perceiver {
namespace {

Activation activation_of(Gelu form) {
  return form == Gelu::kTanh ? Activation::kGeluTanh : Activation::kGeluErf;
}

// x [B, N, D] -> [B * N, D], rows without gaps
Tensor rows_of(const Tensor& x) { return x.reshape({-1, x.size(-1)}).contiguous(); }

// Tables are made in float64, which takes as long as four or five times their rows' product. Who
// looks at one text should not wait for them: they are made when as many were asked for.
struct TablesAskedFor {
  int64_t rows = 0;
  std::optional<RowTables> made = {};
};

class PackedForCpu : public PackedAttend {
 public:
  PackedForCpu(const AttendParts& parts, at::ScalarType dtype)
      : parts_(parts),
        shape_(shape_of(parts)),
        dtype_(dtype),
        widen_(layer(folded(parts.norm_mlp, parts.widen))) {}

  Tensor cross(const Array& x_q, const Array& x_kv, const AttendMasks& masks) override {
    const AttendPlan plan = planned(x_q.batch(), x_q.elements(), x_kv.elements(), masks);
    Attended z;
    switch (plan.form) {
      case AttendForm::kPlain:
        z.sum = attend_plain(x_q, x_kv, masks);
        break;
      case AttendForm::kAbsorbedKeys:
        z.sum = attend_absorbed_keys(x_q, x_kv, masks);
        break;
      case AttendForm::kAbsorbedQueries:
        z = attend_absorbed_queries(x_q, x_kv, masks);
        break;
    }
    return with_output(z).view({x_q.batch(), x_q.elements(), -1}).to(x_q.dtype());
  }

  MeasuredRows self(const MeasuredRows& measured) override {
    const Tensor& x = measured.rows;
    planned(x.size(0), x.size(1), x.size(1), {});
    const Tensor before = rows_of(x).to(at::kFloat);
    const PanelLinear& qkv = made(qkv_, [&] {
      return layer(side_by_side(folded(parts_.norm_q, parts_.q), key_value_map()));
    });
    const int64_t qk = parts_.q->weight.size(0);
    const Tensor all = qkv.forward(normalised(before, dtype_)).view({x.size(0), x.size(1), -1});
    const Tensor out = attend_heads(all.narrow(2, 0, qk), all.narrow(2, qk, all.size(2) - qk), {});
    const Tensor z = output_layer().sum(rows_of(out), before);
    add_mlp(z);
    return {z.view_as(x).to(x.scalar_type())};
  }

 private:
  // What attention adds, on top of the queries, float32 [B * N, D]; where it came with it, the
  // folded output's part of it, float32 [B * N, E].
  struct Attended {
    Tensor sum, of_sum = {};
  };

  // What is done, counted.
  AttendPlan planned(int64_t batch, int64_t queries, int64_t keys, const AttendMasks& masks) const {
    AttentionCase c = attention_case(shape_, queries, keys);
    c.dtype = dtype_, c.batch = batch, c.masked = masks.kv.defined();
    const AttendPlan plan = told(plan_for_cpu(shape_, c));
    count_attention(c, plan.kernel);
    return plan;
  }

  std::optional<RowTables> tables_of(const LearnedSums& sums) {
    constexpr int64_t kTimes = 4;
    const std::lock_guard lock(making_);
    auto& slot = tables_.slot({sums.vectors, sums.places});
    if (!slot) slot.emplace();
    slot->rows += sums.ids.numel();
    const bool pay = slot->rows >= kTimes * (sums.vectors.size(0) + sums.places.size(0));
    if (pay && !slot->made) slot->made = tabulate(parts_, sums);
    return slot->made;
  }

  PanelLinear layer(const LinearMap& map) const {
    return PanelLinear(map.weight, map.bias, dtype_);
  }

  // Only the form that is used is made, when it is first used.
  template <typename T, typename Make>
  const T& made(std::optional<T>& slot, const Make& make) {
    const std::lock_guard lock(making_);
    if (!slot) slot = make();
    return *slot;
  }
  template <typename Make>
  Tensor made(KeptFor<Tensor>& kept, const Tensor& of, const Make& make) {
    const std::lock_guard lock(making_);
    auto& slot = kept.slot({of});
    if (!slot) slot = make();
    return *slot;
  }

  LinearMap key_value_map() const {
    return side_by_side(folded(parts_.norm_kv, parts_.k), folded(parts_.norm_kv, parts_.v));
  }

  const PanelLinear& output_layer() {
    return made(output_, [&] { return layer(as_map(parts_.o)); });
  }

  // What the attention is added to: the queries, or nothing.
  Tensor start(const Array& x_q) const {
    return parts_.query_residual ? rows_of(x_q.materialise()).to(at::kFloat) : Tensor();
  }

  Tensor widened(const Tensor& z) const {
    return widen_.forward(normalised(z, dtype_), activation_of(parts_.semantics.gelu));
  }

  void add_mlp(const Tensor& z) {
    made(narrow_, [&] { return layer(as_map(parts_.narrow)); }).add_to(z, widened(z));
  }

  // The MLP, and the output layer where the parts have one: [B * N, D or E]
  Tensor with_output(Attended& z) {
    const LinearMap& output = parts_.output;
    if (!folds_output(shape_)) {
      add_mlp(z.sum);
      return output.weight.defined()
                 ? at::linear(z.sum, output.weight.to(at::kFloat), output.bias.to(at::kFloat))
                 : z.sum;
    }
    const OfBoth& of = made(of_both_, [&] {
      const FoldedOutput folded = fold_output(parts_);
      return OfBoth{layer(folded.of_sum), layer(folded.of_hidden)};
    });
    const Tensor out = z.of_sum.defined() ? z.of_sum : of.sum.sum(z.sum.to(dtype_));
    of.hidden.add_to(out, widened(z.sum));
    return out;
  }

  // Elements of x_q, normalised and through the layer: [B, N, out]. Learned rows are projected
  // once.
  Tensor projected_queries(const PanelLinear& layer, const Array& x_q, KeptFor<Tensor>& kept) {
    const auto learned = x_q.learned_rows();
    if (!learned) return projected(layer, x_q.materialise());
    const Tensor all =
        made(kept, learned->rows, [&] { return projected(layer, learned->rows.unsqueeze(0)); });
    return all.narrow(1, learned->first, x_q.elements()).expand({x_q.batch(), -1, -1});
  }
  Tensor projected(const PanelLinear& layer, const Tensor& x) const {
    return layer.forward(normalised(rows_of(x), dtype_)).view({x.size(0), x.size(1), -1});
  }

  // q [B, N, H * F], kv [B, M, H * (F + V)], keys first -> [B, N, H * V]
  Tensor attend_heads(const Tensor& q, const Tensor& kv, const AttendMasks& masks) const {
    const int64_t heads = parts_.num_heads, qk = q.size(2);
    const auto split = [&](const Tensor& x) {
      return x.unflatten(2, {heads, x.size(2) / heads}).transpose(1, 2);
    };
    const Tensor v = split(kv.narrow(2, qk, kv.size(2) - qk));
    Tensor out = attend_stream({.q = split(q),
                                .k = split(kv.narrow(2, 0, qk)),
                                .v = v,
                                .kv_mask = masks.kv,
                                .scale = 1.0 / std::sqrt(static_cast<double>(qk / heads))});
    out = out.transpose(1, 2).flatten(2);
    if (masks.kv.defined() && !parts_.semantics.zero_masked_rows) {
      const Tensor mean = v.mean(2).flatten(1).unsqueeze(1);
      out = at::where(masks.kv.any(1).view({-1, 1, 1}), out, mean);
    }
    return with_queries_masked(out, masks);
  }

  // A masked query attends to nothing. x [B, N, channels]
  Tensor with_queries_masked(const Tensor& x, const AttendMasks& masks) const {
    if (!masks.q.defined() || !parts_.semantics.query_mask) return x;
    return x.masked_fill(masks.q.logical_not().unsqueeze(-1), 0.0);
  }

  Tensor attend_plain(const Array& x_q, const Array& x_kv, const AttendMasks& masks) {
    const PanelLinear& q = made(query_, [&] { return layer(folded(parts_.norm_q, parts_.q)); });
    const Tensor kv = keys_and_values(x_kv, x_q.elements());
    const Tensor out = attend_heads(projected_queries(q, x_q, learned_q_), kv, masks);
    return output_layer().sum(rows_of(out), start(x_q));
  }

  // [B, M, H * (F + V)], keys first: looked up where that is less work than to multiply
  Tensor keys_and_values(const Array& x_kv, int64_t queries) {
    const auto sums = x_kv.learned_sums();
    if (sums && tabulates(parts_, queries, *sums)) {
      if (const auto tables = tables_of(*sums)) return looked_up(*tables, sums->ids, dtype_);
    }
    const PanelLinear& kv = made(key_value_, [&] { return layer(key_value_map()); });
    return projected(kv, x_kv.materialise());
  }

  double score_scale() const {
    return 1.0 / std::sqrt(static_cast<double>(parts_.q->weight.size(0)));
  }

  // q [B, N, C] over the normalised x_kv [B, M, C], which are keys and values: [B, N, C]
  Tensor attend_elements(const Tensor& q, const Array& x_kv, const AttendMasks& masks) const {
    const auto grid = masks.kv.defined() ? std::nullopt : x_kv.on_grid();
    const Tensor k = (grid ? grid->content : x_kv.materialise()).to(dtype_);
    const int64_t channels = k.size(2);
    StreamInputs in{.q = q.narrow(2, 0, channels).unsqueeze(1),
                    .k = k.unsqueeze(1),
                    .kv_mask = masks.kv,
                    .scale = score_scale(),
                    .normalise_k = true};
    if (grid) {
      in.key_places = scores_of_keys(grid->positions->places(), grid->first,
                                     q.narrow(2, channels, q.size(2) - channels));
    }
    return attend_stream(in).squeeze(1);
  }

  Tensor attend_absorbed_keys(const Array& x_q, const Array& x_kv, const AttendMasks& masks) {
    const AbsorbedKeys& absorbed = made(absorbed_keys_, [&] { return absorb_keys(parts_); });
    const PanelLinear& query = made(query_over_keys_, [&] { return layer(absorbed.query); });
    const PanelLinear& output = made(output_of_keys_, [&] { return layer(absorbed.output); });
    Tensor out = attend_elements(projected_queries(query, x_q, learned_over_keys_), x_kv, masks);
    // Where no key is attended to there is no value, and none of its bias.
    Tensor nothing = at::zeros({x_q.batch(), x_q.elements()}, at::kBool);
    if (masks.kv.defined()) {
      const Tensor no_key = masks.kv.any(1).logical_not();
      if (parts_.semantics.zero_masked_rows) {
        nothing.logical_or_(no_key.unsqueeze(1));
      } else if (no_key.any().item<bool>()) {
        const Tensor normed =
            at::layer_norm(x_kv.materialise(), {x_kv.channels()}, {}, {}, kNormEpsilon);
        const Tensor mean = normed.mean(1, /*keepdim=*/true);
        out = at::where(no_key.view({-1, 1, 1}), mean.to(dtype_), out);
      }
    }
    if (masks.q.defined() && parts_.semantics.query_mask)
      nothing.logical_or_(masks.q.logical_not());
    const bool some = nothing.any().item<bool>();
    if (some) out = out.masked_fill(nothing.unsqueeze(-1), 0.0);
    const Tensor z = output.sum(rows_of(out), start(x_q));
    if (some) z.sub_(nothing.view({-1, 1}) * absorbed.value_bias);
    return z;
  }

  Attended attend_absorbed_queries(const Array& x_q, const Array& x_kv, const AttendMasks& masks) {
    const AbsorbedQueries& absorbed =
        made(absorbed_queries_, [&] { return absorb_queries(parts_); });
    const PanelLinear& keys_values = made(keys_values_, [&] {
      const LinearMap all = side_by_side(absorbed.keys, absorbed.values);
      return layer(are_narrowed(parts_) ? side_by_side(all, absorb_output(parts_)) : all);
    });
    const PanelLinear& key_bias = made(key_bias_, [&] { return layer(absorbed.key_bias); });
    const auto grid = parts_.query_residual ? std::nullopt : x_q.on_grid();
    const Tensor elements = grid ? grid->content : x_q.materialise();
    const Keys keys = keys_of(x_kv.materialise(), keys_values, key_bias, grid);
    const int64_t channels = x_q.channels();
    const Tensor v = keys.kv.narrow(3, channels, keys.kv.size(3) - channels);
    const Tensor q = elements.to(dtype_);
    StreamInputs in{.q = q.unsqueeze(1),
                    .k = keys.kv.narrow(3, 0, q.size(2)),
                    .v = v,
                    .kv_mask = masks.kv,
                    .key_bias = keys.bias,
                    .scale = score_scale(),
                    .normalise_q = true};
    if (grid) {
      in.query_places = keys.places;
      in.query_places->first = grid->first;
    }
    Tensor out = attend_stream(in).squeeze(1);
    if (masks.kv.defined() && !parts_.semantics.zero_masked_rows) {
      out = at::where(masks.kv.any(1).view({-1, 1, 1}), out, v.mean(2));
    }
    out = with_queries_masked(out, masks);
    if (are_narrowed(parts_)) {
      // A query without keys would be without the bias of what rides, too.
      TORCH_INTERNAL_ASSERT(!masks.q.defined() && !masks.kv.defined());
      const int64_t results = absorbed.output_bias.size(0), outputs = out.size(2) - results;
      const Tensor z = out.narrow(2, 0, results).to(at::kFloat) + absorbed.output_bias;
      return {z.flatten(0, 1), rows_of(out.narrow(2, results, outputs)).to(at::kFloat)};
    }
    Tensor z = rows_of(out).to(at::kFloat);
    z.add_(absorbed.output_bias);
    if (parts_.query_residual) z.add_(elements.reshape({-1, channels}));
    return {z};
  }

  struct Keys {
    Tensor kv;                              // [B, 1, M, channels of both]
    Tensor bias;                            // [B, 1, M]
    std::optional<GridScores> places = {};  // for queries of a grid
  };

  // Queries come in slices to the same keys: those of the last call are kept.
  Keys keys_of(const Tensor& x_kv, const PanelLinear& keys_values, const PanelLinear& key_bias,
               const std::optional<OnGrid>& queries) {
    if (x_kv.is_inference()) return new_keys(x_kv, keys_values, key_bias, queries);
    const std::lock_guard lock(making_);
    std::vector<Tensor> of = {x_kv};
    if (queries) of.push_back(queries->positions->places().lines);
    auto& keys = keys_.slot(of);
    if (!keys) keys = new_keys(x_kv, keys_values, key_bias, queries);
    return *keys;
  }

  Keys new_keys(const Tensor& x_kv, const PanelLinear& keys_values, const PanelLinear& key_bias,
                const std::optional<OnGrid>& queries) const {
    const int64_t batch = x_kv.size(0), count = x_kv.size(1);
    const Tensor normed = normalised(rows_of(x_kv), dtype_);
    Keys keys{keys_values.forward(normed).view({batch, 1, count, -1}),
              key_bias.sum(normed).view({batch, 1, count})};
    if (queries) {
      const GridPlaces& places = queries->positions->places();
      const Tensor of_places =
          keys.kv.squeeze(1).narrow(2, queries->content.size(2), places.channels());
      keys.places = scores_of_queries(places, /*first=*/0, of_places);
    }
    return keys;
  }

  AttendParts parts_;
  AttendShape shape_;
  at::ScalarType dtype_;
  std::mutex making_;
  KeptFor<Keys> keys_;
  PanelLinear widen_;
  std::optional<PanelLinear> narrow_, qkv_, query_, key_value_, output_;
  struct OfBoth {
    PanelLinear sum, hidden;
  };
  std::optional<OfBoth> of_both_;  // the folded output's layers
  KeptFor<TablesAskedFor> tables_;
  std::optional<AbsorbedKeys> absorbed_keys_;
  std::optional<PanelLinear> query_over_keys_, output_of_keys_;
  KeptFor<Tensor> learned_q_, learned_over_keys_;  // learned rows, projected
  std::optional<AbsorbedQueries> absorbed_queries_;
  std::optional<PanelLinear> keys_values_, key_bias_;
};

}  // namespace

std::shared_ptr<PackedAttend> pack_for_cpu(const AttendParts& parts, at::ScalarType dtype) {
  return std::make_shared<PackedForCpu>(parts, dtype);
}

}  // namespace perceiver
