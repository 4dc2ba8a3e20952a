#include <ATen/ATen.h>

#include <cmath>
#include <mutex>
#include <optional>

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/attention/stream.h"
#include "perceiver/kernels/embedding/grid_array.h"
#include "perceiver/kernels/linear/panel_linear.h"
#include "perceiver/nn/packed_forms.h"

namespace perceiver {
namespace {

Activation activation_of(Gelu form) {
  return form == Gelu::kTanh ? Activation::kGeluTanh : Activation::kGeluErf;
}

// x [B, N, D] -> [B * N, D], rows without gaps
Tensor rows_of(const Tensor& x) { return x.reshape({-1, x.size(-1)}).contiguous(); }

class PackedForCpu : public PackedAttend {
 public:
  PackedForCpu(const AttendParts& parts, at::ScalarType dtype)
      : parts_(parts), dtype_(dtype), widen_(layer(folded(parts.norm_mlp, parts.widen))) {}

  Tensor cross(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) override {
    const AttendForm form = cheapest_form(parts_, x_q.size(1), x_kv.size(1));
    // Elements of a grid are stored only for those who look at them.
    const bool queries_may_be_grid = form == AttendForm::kAbsorbedQueries && !parts_.query_residual;
    const bool keys_may_be_grid = form == AttendForm::kAbsorbedKeys && !masks.kv.defined();
    return attend(form, queries_may_be_grid ? x_q : elements_of(x_q),
                  keys_may_be_grid ? x_kv : elements_of(x_kv), masks);
  }

  Tensor cross_placed(const Tensor& x_q, const PlacedArray& x_kv,
                      const AttendMasks& masks) override {
    if (!tabulates(parts_, x_q.size(1), x_kv) || !tables_pay(x_kv.ids.numel())) return {};
    count(x_q, x_kv.ids.size(1), masks);
    const RowTables& tables = made(tables_, [&] { return tabulate(parts_); });
    Attended z{attend_projected(x_q, looked_up(tables, x_kv.ids, dtype_), masks)};
    return result(z, x_q);
  }

  MeasuredRows self(const MeasuredRows& measured) override {
    const Tensor& x = measured.rows;
    count(x, x.size(1), {});
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
  Tensor attend(AttendForm form, const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) {
    count(x_q, x_kv.size(1), masks);
    Attended z;
    switch (form) {
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
    return result(z, x_q);
  }

  // What attention adds, on top of the queries, float32 [B * N, D]; where it came with it, the
  // folded output's part of it, float32 [B * N, E].
  struct Attended {
    Tensor sum, of_sum = {};
  };

  void count(const Tensor& x_q, int64_t keys, const AttendMasks& masks) const {
    count_attention({.dtype = dtype_,
                     .batch = x_q.size(0),
                     .heads = parts_.num_heads,
                     .queries = x_q.size(1),
                     .keys = keys,
                     .qk_channels = parts_.q->weight.size(0) / parts_.num_heads,
                     .v_channels = parts_.v->weight.size(0) / parts_.num_heads,
                     .masked = masks.kv.defined()},
                    kStreamed);
  }

  // Tables are made in float64, which takes as long as four or five times their rows' product. Who
  // looks at one text should not wait for them: they are made when as many were asked for.
  bool tables_pay(int64_t rows) {
    constexpr int64_t kTimes = 4;
    const std::lock_guard lock(making_);
    if (tables_) return true;
    rows_asked_for_ += rows;
    return rows_asked_for_ >=
           kTimes * (parts_.inputs.vectors.size(0) + parts_.inputs.places.size(0));
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

  LinearMap key_value_map() const {
    return side_by_side(folded(parts_.norm_kv, parts_.k), folded(parts_.norm_kv, parts_.v));
  }

  const PanelLinear& output_layer() {
    return made(output_, [&] { return layer(as_map(parts_.o)); });
  }

  // What the attention is added to: the queries, or nothing.
  Tensor start(const Tensor& x_q) const {
    return parts_.query_residual ? rows_of(x_q).to(at::kFloat) : Tensor();
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
    if (!folds_output(parts_)) {
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

  // In the shape and dtype of x_q
  Tensor result(Attended& z, const Tensor& x_q) {
    return with_output(z).view({x_q.size(0), x_q.size(1), -1}).to(x_q.scalar_type());
  }

  // Rows of x_q, normalised and through the layer: [B, N, out]. The usual ones are made once, in
  // `slot`.
  Tensor projected_queries(const PanelLinear& layer, const Tensor& x_q,
                           std::optional<Tensor>& slot) {
    if (!are_usual(parts_, x_q)) return projected(layer, x_q);
    const Tensor& all = made(slot, [&] { return projected(layer, parts_.queries.unsqueeze(0)); });
    return all.narrow(1, 0, x_q.size(1)).expand({x_q.size(0), -1, -1});
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

  Tensor attend_plain(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) {
    const PanelLinear& kv = made(key_value_, [&] { return layer(key_value_map()); });
    return attend_projected(x_q, projected(kv, x_kv), masks);
  }

  // kv [B, M, H * (F + V)], keys first
  Tensor attend_projected(const Tensor& x_q, const Tensor& kv, const AttendMasks& masks) {
    const PanelLinear& q = made(query_, [&] { return layer(folded(parts_.norm_q, parts_.q)); });
    const Tensor out = attend_heads(projected_queries(q, x_q, usual_q_), kv, masks);
    return output_layer().sum(rows_of(out), start(x_q));
  }

  double score_scale() const {
    return 1.0 / std::sqrt(static_cast<double>(parts_.q->weight.size(0)));
  }

  // q [B, N, C] over the normalised x_kv [B, M, C], which are keys and values: [B, N, C]
  Tensor attend_elements(const Tensor& q, const Tensor& x_kv, const AttendMasks& masks) const {
    const auto grid = known_grid(x_kv);
    const Tensor k = (grid ? grid->content : x_kv).to(dtype_);
    const int64_t channels = k.size(2);
    StreamInputs in{.q = q.narrow(2, 0, channels).unsqueeze(1),
                    .k = k.unsqueeze(1),
                    .kv_mask = masks.kv,
                    .scale = score_scale(),
                    .normalise_k = true};
    if (grid) {
      in.key_places =
          scores_of_keys(grid->places, grid->first, q.narrow(2, channels, q.size(2) - channels));
    }
    return attend_stream(in).squeeze(1);
  }

  Tensor attend_absorbed_keys(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) {
    const AbsorbedKeys& absorbed = made(absorbed_keys_, [&] { return absorb_keys(parts_); });
    const PanelLinear& query = made(query_over_keys_, [&] { return layer(absorbed.query); });
    const PanelLinear& output = made(output_of_keys_, [&] { return layer(absorbed.output); });
    Tensor out = attend_elements(projected_queries(query, x_q, usual_over_keys_), x_kv, masks);
    // Where no key is attended to there is no value, and none of its bias.
    Tensor nothing = at::zeros({x_q.size(0), x_q.size(1)}, at::kBool);
    if (masks.kv.defined()) {
      const Tensor no_key = masks.kv.any(1).logical_not();
      if (parts_.semantics.zero_masked_rows) {
        nothing.logical_or_(no_key.unsqueeze(1));
      } else if (no_key.any().item<bool>()) {
        const Tensor mean = at::layer_norm(x_kv, {x_kv.size(2)}).mean(1, /*keepdim=*/true);
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

  Attended attend_absorbed_queries(const Tensor& x_q, const Tensor& x_kv,
                                   const AttendMasks& masks) {
    const AbsorbedQueries& absorbed =
        made(absorbed_queries_, [&] { return absorb_queries(parts_); });
    const PanelLinear& keys_values = made(keys_values_, [&] {
      const LinearMap all = side_by_side(absorbed.keys, absorbed.values);
      return layer(are_narrowed(parts_) ? side_by_side(all, absorb_output(parts_)) : all);
    });
    const PanelLinear& key_bias = made(key_bias_, [&] { return layer(absorbed.key_bias); });
    const auto grid = known_grid(x_q);
    const Keys keys = keys_of(x_kv, keys_values, key_bias, grid);
    const int64_t channels = x_q.size(2);
    const Tensor v = keys.kv.narrow(3, channels, keys.kv.size(3) - channels);
    const Tensor q = (grid ? grid->content : x_q).to(dtype_);
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
    if (parts_.query_residual) z.add_(x_q.reshape({-1, channels}));
    return {z};
  }

  struct Keys {
    Tensor kv;                              // [B, 1, M, channels of both]
    Tensor bias;                            // [B, 1, M]
    std::optional<GridScores> places = {};  // for queries of a grid
  };

  // Queries come in slices to the same keys: those of the last call are kept.
  Keys keys_of(const Tensor& x_kv, const PanelLinear& keys_values, const PanelLinear& key_bias,
               const std::optional<GridArray>& queries) {
    const std::lock_guard lock(making_);
    const bool same = last_kv_.is_same(x_kv) && !x_kv.is_inference() &&
                      last_version_ == static_cast<int64_t>(x_kv._version());
    if (!same) make_keys(x_kv, keys_values, key_bias);
    if (queries) {
      const GridPlaces& places = queries->places;
      auto& scores = last_keys_.places;
      if (!scores || !scores->places.lines.is_same(places.lines)) {
        const Tensor of_places =
            last_keys_.kv.squeeze(1).narrow(2, queries->content.size(2), places.channels());
        scores = scores_of_queries(places, /*first=*/0, of_places);
      }
    }
    return last_keys_;
  }

  void make_keys(const Tensor& x_kv, const PanelLinear& keys_values, const PanelLinear& key_bias) {
    const int64_t batch = x_kv.size(0), keys = x_kv.size(1);
    const Tensor normed = normalised(rows_of(x_kv), dtype_);
    last_keys_ = {keys_values.forward(normed).view({batch, 1, keys, -1}),
                  key_bias.sum(normed).view({batch, 1, keys})};
    last_kv_ = x_kv;
    last_version_ = x_kv.is_inference() ? 0 : static_cast<int64_t>(x_kv._version());
  }

  AttendParts parts_;
  at::ScalarType dtype_;
  std::mutex making_;
  Tensor last_kv_;
  int64_t last_version_ = 0;
  Keys last_keys_;
  PanelLinear widen_;
  std::optional<PanelLinear> narrow_, qkv_, query_, key_value_, output_;
  struct OfBoth {
    PanelLinear sum, hidden;
  };
  std::optional<OfBoth> of_both_;  // the folded output's layers
  std::optional<RowTables> tables_;
  int64_t rows_asked_for_ = 0;  // before there were tables
  std::optional<AbsorbedKeys> absorbed_keys_;
  std::optional<PanelLinear> query_over_keys_, output_of_keys_;
  std::optional<Tensor> usual_q_, usual_over_keys_;  // the usual queries, projected
  std::optional<AbsorbedQueries> absorbed_queries_;
  std::optional<PanelLinear> keys_values_, key_bias_;
};

}  // namespace

std::shared_ptr<PackedAttend> pack_for_cpu(const AttendParts& parts, at::ScalarType dtype) {
  return std::make_shared<PackedForCpu>(parts, dtype);
}

}  // namespace perceiver
