#include <ATen/ATen.h>

#include <cmath>
#include <mutex>
#include <optional>

#include "perceiver/kernels/attention.h"
#include "perceiver/kernels/wide_attention.h"
#include "perceiver/nn/packed_forms.h"

namespace perceiver {
namespace {

// A linear layer whose channels are filled up with zeros to what the GPU multiplies well.
struct PaddedLinear {
  Tensor weight, bias;  // [out, in], [out]

  PaddedLinear(const LinearMap& map, at::ScalarType dtype, int64_t out, int64_t in)
      : weight(at::constant_pad_nd(map.weight,
                                   {0, in - map.weight.size(1), 0, out - map.weight.size(0)})
                   .to(dtype)),
        bias(at::constant_pad_nd(map.bias, {0, out - map.bias.size(0)}).to(dtype)) {}

  PaddedLinear(const LinearMap& map, at::ScalarType dtype)
      : PaddedLinear(map, dtype, map.weight.size(0), map.weight.size(1)) {}

  Tensor forward(const Tensor& x) const { return at::linear(x, weight, bias); }

  // cuBLAS applies the tanh form on its way out.
  Tensor forward_gelu(const Tensor& x, Gelu form) const {
    if (form == Gelu::kErf || !x.is_cuda()) {
      return at::gelu(forward(x), form == Gelu::kErf ? "none" : "tanh");
    }
    const Tensor rows = x.reshape({-1, x.size(-1)});
    return at::_addmm_activation(bias, rows, weight.t(), 1, 1, /*use_gelu=*/true)
        .view({x.size(0), x.size(1), -1});
  }
};

class PackedForGpu : public PackedAttend {
 public:
  PackedForGpu(const AttendParts& parts, at::ScalarType dtype)
      : parts_(parts),
        dtype_(dtype),
        channels_(parts.q->weight.size(1)),
        padded_(padded_channels(channels_)),
        widen_(folded(parts.norm_mlp, parts.widen), dtype,
               padded_channels(parts.widen->weight.size(0)), padded_),
        narrow_(as_map(parts.narrow), dtype, padded_,
                padded_channels(parts.narrow->weight.size(1))) {}

  Tensor cross(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) override {
    switch (cheapest_form(parts_, x_q.size(1), x_kv.size(1))) {
      case AttendForm::kPlain:
        return with_mlp(x_q, attend_plain(x_q, x_kv, masks));
      case AttendForm::kAbsorbedKeys:
        return with_mlp(x_q, attend_absorbed_keys(x_q, x_kv, masks));
      case AttendForm::kAbsorbedQueries:
        return with_mlp(x_q, attend_absorbed_queries(x_q, x_kv, masks));
    }
    return {};
  }

  Tensor self(const Tensor& x) override {
    const PaddedLinear& qkv = made(qkv_, [&] {
      return PaddedLinear(side_by_side(folded(parts_.norm_q, parts_.q), key_value_map()), dtype_);
    });
    const Tensor z = x.to(dtype_);
    const int64_t qk = parts_.q->weight.size(0);
    const Tensor all = qkv.forward(normalised_padded(z, dtype_, channels_, false));
    const Tensor out = attend_heads(all.narrow(2, 0, qk), all.narrow(2, qk, all.size(2) - qk), {});
    return with_mlp(z, output_layer().forward(out)).to(x.scalar_type());
  }

 private:
  // Attention of a single head, counted as the module's own would be.
  Tensor attend_single(const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor& kv_mask) const {
    count_attention({.device = q.device(),
                     .dtype = dtype_,
                     .batch = q.size(0),
                     .queries = q.size(1),
                     .keys = k.size(1),
                     .qk_channels = parts_.q->weight.size(0),
                     .v_channels = parts_.v->weight.size(0),
                     .masked = kv_mask.defined()});
    const double scale = 1.0 / std::sqrt(static_cast<double>(parts_.q->weight.size(0)));
    return attend_wide(q, k, v, kv_mask, scale);
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

  const PaddedLinear& output_layer() {
    return made(output_, [&] { return PaddedLinear(as_map(parts_.o), dtype_); });
  }

  // What attention adds, [B, N, D] and perhaps padding, on top of the queries, then the MLP.
  Tensor with_mlp(const Tensor& x_q, Tensor added) const {
    const int64_t width = added.size(2);
    Tensor normed;
    if (parts_.query_residual && width == channels_) {
      const AddedRows rows = add_normalised(x_q.to(dtype_), added);
      added = rows.sum, normed = rows.normed;
    } else {
      if (parts_.query_residual) {
        added = added + at::constant_pad_nd(x_q.to(dtype_), {0, width - channels_});
      }
      normed = normalised_padded(added.narrow(2, 0, channels_), dtype_, padded_, false);
    }
    if (normed.size(2) < padded_) normed = at::constant_pad_nd(normed, {0, padded_ - channels_});
    // Over rows of whole 16 bytes, padding and all: half the time of rows without it.
    const Tensor mlp = narrow_.forward(widen_.forward_gelu(normed, parts_.semantics.gelu));
    const Tensor z = width == padded_ ? added + mlp
                                      : added.narrow(2, 0, channels_) + mlp.narrow(2, 0, channels_);
    return z.narrow(2, 0, channels_).to(x_q.scalar_type());
  }

  // q [B, N, H * F], kv [B, M, H * (F + V)], keys first -> [B, N, H * V]
  Tensor attend_heads(const Tensor& q, const Tensor& kv, const AttendMasks& masks) const {
    const int64_t heads = parts_.num_heads, qk = q.size(2);
    const auto split = [&](const Tensor& x) {
      return x.unflatten(2, {heads, x.size(2) / heads}).transpose(1, 2);
    };
    const Tensor v = split(kv.narrow(2, qk, kv.size(2) - qk));
    Tensor out = attend(
        {.q = split(q), .k = split(kv.narrow(2, 0, qk)), .v = v, .kv_mask = masks.kv}, "auto");
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

  Tensor normed(const Tensor& x) const { return normalised_padded(x, dtype_, x.size(-1), false); }

  Tensor attend_plain(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) {
    const PaddedLinear& q =
        made(query_, [&] { return PaddedLinear(folded(parts_.norm_q, parts_.q), dtype_); });
    const PaddedLinear& kv =
        made(key_value_, [&] { return PaddedLinear(key_value_map(), dtype_); });
    const Tensor out = attend_heads(q.forward(normed(x_q)), kv.forward(normed(x_kv)), masks);
    return output_layer().forward(out);
  }

  Tensor attend_absorbed_keys(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) {
    const int64_t padded = padded_channels(x_kv.size(2));
    const AbsorbedKeys& absorbed = made(absorbed_keys_, [&] { return absorb_keys(parts_); });
    const PaddedLinear& query = made(
        query_over_keys_, [&] { return PaddedLinear(absorbed.query, dtype_, padded, channels_); });
    const PaddedLinear& output = made(
        output_of_keys_, [&] { return PaddedLinear(absorbed.output, dtype_, channels_, padded); });
    const Tensor keys = normalised_padded(x_kv, dtype_, padded, false);
    Tensor out = attend_single(query.forward(normed(x_q)), keys, keys, masks.kv);
    if (masks.kv.defined() && !parts_.semantics.zero_masked_rows) {
      const Tensor any_key = masks.kv.any(1).view({-1, 1, 1});
      out = at::where(any_key, out, keys.mean(1, /*keepdim=*/true));
    }
    // Where no key is attended to there is no value, and none of its bias.
    const Tensor nothing = queries_of_nothing(masks);
    const Tensor added = output.forward(out);
    if (!nothing.defined()) return added;
    return at::where(nothing, (absorbed.output.bias - absorbed.value_bias).to(dtype_), added);
  }

  Tensor attend_absorbed_queries(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) {
    // One channel more, which is 1 in every query: the key's bias is its weight.
    const int64_t padded = padded_channels(channels_ + 1);
    const AbsorbedQueries& absorbed =
        made(absorbed_queries_, [&] { return absorb_queries(parts_); });
    const PaddedLinear& keys = made(keys_, [&] {
      return PaddedLinear(side_by_side(absorbed.keys, absorbed.key_bias), dtype_, padded,
                          x_kv.size(2));
    });
    // A query's weights sum to one, so the output's bias may ride with the values.
    const PaddedLinear& values = made(values_, [&] {
      const LinearMap with_bias{absorbed.values.weight,
                                absorbed.values.bias + absorbed.output_bias};
      return PaddedLinear(with_bias, dtype_, padded, x_kv.size(2));
    });
    const Tensor normed_kv = normed(x_kv);
    const Tensor v = values.forward(normed_kv);
    Tensor out = attend_single(normalised_padded(x_q, dtype_, padded, true),
                               keys.forward(normed_kv), v, masks.kv);
    if (masks.kv.defined() && !parts_.semantics.zero_masked_rows) {
      out = at::where(masks.kv.any(1).view({-1, 1, 1}), out, v.mean(1, /*keepdim=*/true));
    }
    const Tensor nothing = queries_of_nothing(masks);
    if (!nothing.defined()) return out;
    const Tensor bias = at::constant_pad_nd(absorbed.output_bias, {0, padded - channels_});
    return at::where(nothing, bias.to(dtype_), out);
  }

  AttendParts parts_;
  at::ScalarType dtype_;
  int64_t channels_, padded_;  // of the queries
  std::mutex making_;
  PaddedLinear widen_, narrow_;
  std::optional<PaddedLinear> qkv_, query_, key_value_, output_;
  std::optional<AbsorbedKeys> absorbed_keys_;
  std::optional<PaddedLinear> query_over_keys_, output_of_keys_;
  std::optional<AbsorbedQueries> absorbed_queries_;
  std::optional<PaddedLinear> keys_, values_;
};

}  // namespace

std::shared_ptr<PackedAttend> pack_for_gpu(const AttendParts& parts, at::ScalarType dtype) {
  return std::make_shared<PackedForGpu>(parts, dtype);
}

}  // namespace perceiver
