#include "perceiver/nn/attend_plan.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "perceiver/kernels/attention/backward.h"
#include "perceiver/kernels/attention/stream.h"
#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/linear/product_limits.h"
#include "perceiver/kernels/norm/training_rows.h"

namespace perceiver {
namespace {

// Whether there is an inference form for products in this dtype.
bool has_inference_form(const Hardware& device, at::ScalarType dtype) {
  if (!device.is_cpu()) return device.is_cuda() && dtype != at::kDouble;
  return dtype == at::kFloat || (dtype == at::kBFloat16 && !device.bf16_tiles.empty());
}

bool is_hopper(const Hardware& device) { return device.gpu.compute_capability == 90; }

// Whether a GPU's products are ours to choose.
bool has_gpu_products(const AttentionCase& c) {
  return c.device.gpu.has_kernels && (c.dtype == at::kBFloat16 || c.dtype == at::kHalf);
}

std::string_view gpu_product(const AttendShape& s, const AttentionCase& c) {
  if (!has_gpu_products(c)) return kLibraryProduct;
  if (!is_hopper(c.device)) return kCublasLt;
  const int64_t results = padded_channels(s.results);
  const bool mlp = outputs_ride(s) && s.tanh_gelu &&
                   narrow_mlp_takes({.in = results,
                                     .channels = s.results,
                                     .hidden = padded_channels(s.hidden),
                                     .out = s.outputs});
  if (mlp) return kNarrowMlp;
  const bool adds_residual = !folds_output(s);
  return adds_residual && product_is_small(c.batch * c.queries, results) ? kGemmSm90 : kCublasLt;
}

// The channels that a GPU multiplies where keys or queries are absorbed.
void absorb(const AttendShape& s, AttendForm form, AttentionCase* c) {
  if (form == AttendForm::kAbsorbedKeys) {
    c->qk_channels = c->v_channels = padded_channels(s.kv_channels);
  } else if (form == AttendForm::kAbsorbedQueries) {
    c->qk_channels = absorbed_key_channels(s.q_channels);
    c->v_channels = padded_channels(s.results + (outputs_ride(s) ? s.outputs : 0));
  }
}

}  // namespace

AttentionCase attention_case(const AttendShape& s, int64_t queries, int64_t keys) {
  return {.heads = s.heads,
          .queries = queries,
          .keys = keys,
          .qk_channels = s.qk_channels / s.heads,
          .v_channels = s.v_channels / s.heads};
}

AttendMode attend_mode(at::DeviceType device) {
  const Run& run = current_run();
  return {.kernel = run.kernel,
          .gradients = at::GradMode::is_enabled(),
          .autocast = at::autocast::is_autocast_enabled(device),
          .plain = run.plain_attends || run.observer,
          .fused = run.fused_attends};
}

static bool is_chosen(const AttendMode& mode) {
  return mode.kernel == "auto" || mode.kernel == "check";
}

bool may_infer(const AttendMode& mode) { return !mode.plain && !mode.gradients && is_chosen(mode); }

AttendWay attend_way(const Hardware& device, at::ScalarType dtype, const AttendMode& mode,
                     int64_t channels) {
  if (mode.plain || !is_chosen(mode)) return AttendWay::kModule;
  if (!mode.gradients) {
    return has_inference_form(device, dtype) ? AttendWay::kInference : AttendWay::kModule;
  }
  const bool has_rows = device.is_cuda() && device.gpu.has_kernels && dtype == at::kBFloat16 &&
                        channels <= kMostTrainingChannels;
  return mode.fused || (mode.autocast && has_rows) ? AttendWay::kTraining : AttendWay::kModule;
}

AttendPlan plan_for_cpu(const AttendShape& shape, const AttentionCase& c) {
  return {.way = AttendWay::kInference,
          .form = cheapest_form(shape, c.queries, c.keys),
          .attention = c,
          .kernel = kStreamed,
          .product = kPanels};
}

AttendPlan plan_for_gpu(const AttendShape& shape, const AttentionCase& c) {
  AttendPlan plan{.way = AttendWay::kInference,
                  .form = cheapest_form(shape, c.queries, c.keys),
                  .attention = c,
                  .kernel = {},
                  .product = gpu_product(shape, c)};
  absorb(shape, plan.form, &plan.attention);
  if (plan.form == AttendForm::kPlain) {
    plan.kernel = select_attention_kernel(plan.attention).name;
  } else {
    plan.kernel = wide_refusal(plan.attention).empty() ? kWide : kWideBlocks;
  }
  return plan;
}

AttendPlan plan_attend(const std::optional<AttendShape>& shape, AttentionCase c,
                       const AttendMode& mode) {
  c.needs_grad = mode.gradients;
  c.dropout = c.dropout && mode.gradients;
  const AttendWay way = shape && !c.dropout ? attend_way(c.device, c.dtype, mode, shape->q_channels)
                                            : AttendWay::kModule;
  if (way == AttendWay::kInference) {
    return c.device.is_cpu() ? plan_for_cpu(*shape, c) : plan_for_gpu(*shape, c);
  }
  const bool by_us = way == AttendWay::kTraining && has_gpu_products(c);
  return {.way = way,
          .attention = c,
          .kernel = select_attention_kernel(c, is_chosen(mode) ? "auto" : mode.kernel).name,
          .product = by_us ? kCublasLt : kLibraryProduct};
}

std::vector<std::string> refusals(const AttendPlan& plan) {
  if (plan.kernel == kStreamed || plan.kernel == kWide) return {};
  if (plan.kernel == kWideBlocks) {
    return {fmt::format("{}: {}", kWide, wide_refusal(plan.attention))};
  }
  return attention_refusals(plan.attention);
}

int64_t scores_held(const AttendPlan& plan) {
  const AttentionCase& c = plan.attention;
  const int64_t of_query = c.batch * c.heads * c.keys;
  if (plan.kernel == "reference") return 2 * c.queries * of_query;
  if (plan.kernel == kWideBlocks) return 2 * wide_block_scores(c);
  if (plan.kernel == "blocks") return std::min(c.queries, queries_at_once(c)) * of_query;
  return 0;
}

const AttendPlan& told(const AttendPlan& plan) {
  const Run& run = current_run();
  if (run.plan_observer) run.plan_observer(plan);
  return plan;
}

std::string_view to_word(AttendWay way) {
  switch (way) {
    case AttendWay::kModule:
      return "module";
    case AttendWay::kTraining:
      return "training";
    case AttendWay::kInference:
      break;
  }
  return "inference";
}

std::string_view to_word(AttendForm form) {
  switch (form) {
    case AttendForm::kPlain:
      return "plain";
    case AttendForm::kAbsorbedKeys:
      return "keys absorbed";
    case AttendForm::kAbsorbedQueries:
      break;
  }
  return "queries absorbed";
}

}  // namespace perceiver
