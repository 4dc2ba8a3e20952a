#include "perceiver/nn/fused.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "perceiver/core/repeated.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/linear/linear.h"
#include "perceiver/kernels/norm/training_rows.h"
#include "perceiver/nn/attend_plan.h"
#include "perceiver/nn/fused_layer.h"
#include "perceiver/nn/mlp.h"
#include "perceiver/nn/narrow_weights.h"

namespace perceiver {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::optional<Tensor> given(const Tensor& x) {
  return x.defined() ? std::optional(x) : std::nullopt;
}

Tensor rows_of(const Tensor& x) { return x.reshape({-1, x.size(-1)}); }

Tensor like(const Tensor& rows, at::IntArrayRef sizes) {
  std::vector<int64_t> shape = sizes.vec();
  shape.back() = rows.size(1);
  return rows.view(shape);
}

Tensor stacked_biases(at::TensorList biases, at::ScalarType dtype, int64_t out) {
  std::vector<Tensor> columns;
  for (const Tensor& b : biases) columns.push_back(b.unsqueeze(1));
  return stacked_weights(columns, dtype, out, 1).squeeze(1);
}

// a [R, m], b [R, n] -> a^T b [m, n]: the gradient of a weight, not rounded to the rows' dtype
Tensor weight_gradient(const Tensor& a, const Tensor& b) {
  if (a.is_cuda() && a.scalar_type() != at::kFloat) return at::mm(a.t(), b, at::kFloat);
  return at::mm(a.t(), b);
}

int64_t total_rows(at::TensorList weights) {
  int64_t rows = 0;
  for (const Tensor& w : weights) rows += w.size(0);
  return rows;
}

// Gradients of outputs that lie side by side, [B, N, width] each, as rows [R, out] of `like`'s
// dtype and their sum. The first of `gradients` is another's. Attention may have put them so
// already.
RowsToSum side_by_side(const variable_list& gradients, at::IntArrayRef widths, int64_t rows,
                       const Tensor& like) {
  const int64_t out = like.size(0);
  const Tensor& first = gradients[1];
  bool already = first.defined() && first.scalar_type() == like.scalar_type();
  for (size_t i = 0, column = 0; already && i < widths.size(); column += widths[i++]) {
    const Tensor& part = gradients[i + 1];
    already = part.defined() && part.is_alias_of(first) && part.stride(2) == 1 &&
              part.stride(1) == out && part.stride(0) == out * part.size(1) &&
              part.storage_offset() == first.storage_offset() + static_cast<int64_t>(column);
  }
  if (already) {
    const Tensor all = first.as_strided({rows, out}, {out, 1});
    return {all, sum_later(all)};
  }
  const Tensor all = at::empty({rows, out}, like.options());
  std::vector<Tensor> sums;
  int64_t column = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    const Tensor part = all.narrow(1, column, widths[i]);
    const Tensor& given = gradients[i + 1];
    sums.push_back(given.defined() ? copy_and_sum(rows_of(given), part) : part.zero_().sum(0));
    column += widths[i];
  }
  return {all, {at::cat(sums)}};
}

RowTerms terms_of(const Tensor& x, const std::optional<Tensor>& y,
                  const std::optional<Tensor>& bias) {
  return y ? RowTerms{rows_of(x), rows_of(*y), *bias} : RowTerms{rows_of(x)};
}

struct AddUp : torch::autograd::Function<AddUp> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& y,
                        const Tensor& bias) {
    context->saved_data["sizes"] = y.sizes();
    context->saved_data["dtype"] = static_cast<int64_t>(y.scalar_type());
    return added_rows(terms_of(x, y, bias)).view(x.sizes());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto sizes = context->saved_data["sizes"].toIntVector();
    const auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    const SummedRows d = narrowed_rows(rows_of(gradients[0]), dtype, sizes.back());
    return {gradients[0], d.rows.view(sizes), d.sum};
  }
};

// Outputs: x + y + bias, and one for each weight.
struct ProjectNormed : torch::autograd::Function<ProjectNormed> {
  static variable_list forward(AutogradContext* context, const Tensor& x,
                               const std::optional<Tensor>& y, const std::optional<Tensor>& bias,
                               const Tensor& scale, const Tensor& offset, at::TensorList weights,
                               at::TensorList biases, int64_t dtype) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::AutoDispatchBelowADInplaceOrView no_views;
    const auto narrow = static_cast<at::ScalarType>(dtype);
    const int64_t padded = padded_channels(x.size(2)), out = total_rows(weights);
    const NormedRows rows = layer_norm_rows(terms_of(x, y, bias), scale, offset, narrow, padded);
    const Tensor weight = stacked_weights(weights, narrow, out, padded);
    const Tensor all = multiplied({rows.normed, weight, stacked_biases(biases, narrow, out)});
    context->save_for_backward({scale, rows.z, rows.normed, rows.mean, rows.rstd, weight});
    context->saved_data["sizes"] = x.sizes();
    context->saved_data["added"] = y.has_value();
    context->set_materialize_grads(false);
    variable_list outputs = {y ? rows.z.view(x.sizes()) : x};
    std::vector<int64_t> widths;
    int64_t column = 0;
    for (const Tensor& w : weights) {
      const Tensor part = all.narrow(1, column, w.size(0));
      outputs.push_back(part.unflatten(0, x.sizes().slice(0, 2)));
      widths.push_back(w.size(0));
      column += w.size(0);
    }
    context->saved_data["widths"] = widths;
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &scale = saved[0], &weight = saved[5];
    const NormedRows rows{saved[1], saved[2], saved[3], saved[4]};
    const auto sizes = context->saved_data["sizes"].toIntVector();
    const auto widths = context->saved_data["widths"].toIntVector();
    const bool added = context->saved_data["added"].toBool();
    const auto [all, bias_sum] = side_by_side(gradients, widths, rows.z.size(0), weight);
    const Tensor weight_gradients = weight_gradient(all, rows.normed);
    const bool wanted = added || context->needs_input_grad(0);
    const bool passed = wanted && gradients[0].defined();
    const NormGradients norm = layer_norm_rows_gradient(at::mm(all, weight), rows, scale,
                                                        passed ? rows_of(gradients[0]) : Tensor(),
                                                        added    ? WantedRows::kBoth
                                                        : wanted ? WantedRows::kWide
                                                                 : WantedRows::kNone,
                                                        bias_sum);
    variable_list result = {wanted ? norm.z.view(sizes) : Tensor(),
                            added ? like(norm.narrow, sizes) : Tensor(),
                            added ? norm.sum : Tensor(), norm.scale, norm.offset};
    int64_t column = 0;
    for (const int64_t width : widths) {
      result.push_back(weight_gradients.narrow(0, column, width).narrow(1, 0, rows.z.size(1)));
      column += width;
    }
    for (const Tensor& b : bias_sum.sum.split_with_sizes(widths)) result.push_back(b);
    result.emplace_back();  // of dtype
    return result;
  }
};

// Outputs: z, and what the MLP adds to it but for its last bias.
struct AddAndMlp : torch::autograd::Function<AddAndMlp> {
  static variable_list forward(AutogradContext* context, const std::optional<Tensor>& x,
                               const Tensor& attended, const Tensor& output_weight,
                               const Tensor& output_bias, const Tensor& scale, const Tensor& offset,
                               const Tensor& widen_weight, const Tensor& widen_bias,
                               const Tensor& narrow_weight, bool tanh, int64_t dtype) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const auto narrow = static_cast<at::ScalarType>(dtype);
    const int64_t channels = scale.size(0), padded = padded_channels(channels);
    const int64_t hidden = padded_channels(widen_bias.size(0));
    const Tensor a = rows_of(attended);
    const Tensor wo = stacked_weights({output_weight}, narrow, padded, a.size(1));
    const Tensor w1 = stacked_weights({widen_weight}, narrow, hidden, padded);
    const Tensor w2 = stacked_weights({narrow_weight}, narrow, padded, hidden);
    const RowTerms terms =
        x ? RowTerms{rows_of(repeats_one_example(*x) ? x->narrow(0, 0, 1) : *x), at::mm(a, wo.t()),
                     output_bias}
          : RowTerms{multiplied({a, wo, stacked_biases({output_bias}, narrow, padded)})
                         .narrow(1, 0, channels)};
    const NormedRows rows = layer_norm_rows(terms, scale, offset, narrow, padded);
    const Tensor h = multiplied({rows.normed, w1, stacked_biases({widen_bias}, narrow, hidden)});
    const Tensor u = at::gelu(h, tanh ? "tanh" : "none");
    context->save_for_backward(
        {a, wo, scale, rows.z, rows.normed, rows.mean, rows.rstd, w1, h, u, w2});
    context->saved_data["tanh"] = tanh;
    context->saved_data["residual"] = x.has_value();
    context->saved_data["hidden"] = widen_bias.size(0);
    return {like(rows.z, attended.sizes()), like(at::mm(u, w2.t()), attended.sizes())};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &a = saved[0], &wo = saved[1], &scale = saved[2];
    const NormedRows rows{saved[3], saved[4], saved[5], saved[6]};
    const Tensor &w1 = saved[7], &h = saved[8], &u = saved[9], &w2 = saved[10];
    const int64_t channels = scale.size(0);
    const int64_t hidden = context->saved_data["hidden"].toInt();
    const Tensor d = rows_of(gradients[1]);
    const RowsToSum dh = gelu_rows_gradient(at::mm(d, w2), h, context->saved_data["tanh"].toBool());
    const NormGradients norm = layer_norm_rows_gradient(
        at::mm(dh.rows, w1), rows, scale, rows_of(gradients[0]), WantedRows::kBoth, dh.sum);
    const auto part = [](const Tensor& weight, int64_t out, int64_t in) {
      return weight.narrow(0, 0, out).narrow(1, 0, in);
    };
    const at::IntArrayRef sizes = gradients[0].sizes();
    return {context->saved_data["residual"].toBool() ? like(norm.z, sizes) : Tensor(),
            like(at::mm(norm.narrow, wo), sizes),
            part(weight_gradient(norm.narrow, a), channels, a.size(1)),
            norm.sum,
            norm.scale,
            norm.offset,
            part(weight_gradient(dh.rows, rows.normed), hidden, channels),
            dh.sum.sum.narrow(0, 0, hidden),
            part(weight_gradient(d, u), channels, hidden),
            Tensor(),
            Tensor()};
  }
};

struct LinearLayer : torch::autograd::Function<LinearLayer> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias, int64_t dtype) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::AutoDispatchBelowADInplaceOrView no_views;
    const auto narrow = static_cast<at::ScalarType>(dtype);
    const int64_t out = weight.size(0), padded = padded_channels(out);
    const Tensor rows = rows_of(x).to(narrow);
    const Tensor w = stacked_weights({weight}, narrow, padded, rows.size(1));
    const Tensor all = multiplied({rows, w, stacked_biases({bias}, narrow, padded)});
    context->save_for_backward({rows, w});
    context->saved_data["dtype"] = static_cast<int64_t>(x.scalar_type());
    return like(all, x.sizes()).narrow(-1, 0, out);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &rows = saved[0], &w = saved[1];
    const Tensor& d = gradients[0];
    const SummedRows all = narrowed_rows(rows_of(d), rows.scalar_type(), w.size(0));
    const auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    return {like(at::mm(all.rows, w), d.sizes()).to(dtype),
            weight_gradient(all.rows, rows).narrow(0, 0, d.size(-1)), all.sum, Tensor()};
  }
};

}  // namespace

std::optional<at::ScalarType> fused_dtype(const Tensor& x) {
  const AttendMode mode = attend_mode(x.device().type());
  if (!mode.gradients) return {};
  const auto dtype =
      mode.autocast ? at::autocast::get_autocast_dtype(x.device().type()) : x.scalar_type();
  const bool trains = attend_way(x.device(), dtype, mode, x.size(-1)) == AttendWay::kTraining;
  return trains && (mode.fused || training_rows_are_fused(x, dtype)) ? std::optional(dtype)
                                                                     : std::nullopt;
}

Tensor added_up(const Residual& residual) {
  return residual.y.defined() ? AddUp::apply(residual.x, residual.y, residual.bias) : residual.x;
}

NormedProjections project_normed(const Residual& residual, const LayerNorm& norm,
                                 const std::vector<Linear>& layers, at::ScalarType dtype) {
  std::vector<Tensor> weights, biases;
  for (const Linear& layer : layers) {
    weights.push_back(layer->weight);
    biases.push_back(layer->bias);
  }
  variable_list outputs = ProjectNormed::apply(residual.x, given(residual.y), given(residual.bias),
                                               norm->weight, norm->bias, at::TensorList(weights),
                                               at::TensorList(biases), static_cast<int64_t>(dtype));
  NormedProjections result{.passed = outputs[0]};
  result.outputs.assign(outputs.begin() + 1, outputs.end());
  return result;
}

Tensor linear_layer(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto dtype = fused_dtype(x);
  if (!dtype || padded_channels(x.size(-1)) != x.size(-1)) return at::linear(x, weight, bias);
  return LinearLayer::apply(x, weight, bias, static_cast<int64_t>(*dtype));
}

Residual add_and_mlp(const Tensor& x, const Tensor& attended, const AttendTail& tail,
                     at::ScalarType dtype) {
  const variable_list outputs =
      AddAndMlp::apply(given(x), attended, tail.output->weight, tail.output->bias,
                       tail.norm->weight, tail.norm->bias, tail.widen->weight, tail.widen->bias,
                       tail.narrow->weight, tail.gelu == Gelu::kTanh, static_cast<int64_t>(dtype));
  return {outputs[0], outputs[1], tail.narrow->bias};
}

}  // namespace perceiver
