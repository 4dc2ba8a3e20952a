#include "perceiver/nn/attend_plan.h"

#include <algorithm>

#include "perceiver/kernels/attention/backward.h"
#include "perceiver/kernels/attention/stream.h"
#include "perceiver/kernels/attention/wide_attention.h"

namespace perceiver {

bool has_inference_form(at::Device device, at::ScalarType dtype) {
  return device.is_cpu() ? stream_takes(dtype) : device.is_cuda() && dtype != at::kDouble;
}

InferenceAttend inference_attend(const AttendParts& p, int64_t queries, int64_t keys) {
  InferenceAttend attend{.form = cheapest_form(p, queries, keys)};
  if (attend.form == AttendForm::kAbsorbedKeys) {
    attend.qk_channels = attend.v_channels = padded_channels(p.k->weight.size(1));
  } else if (attend.form == AttendForm::kAbsorbedQueries) {
    attend.qk_channels = absorbed_key_channels(p.q->weight.size(1));
    attend.v_channels = padded_channels(p.o->weight.size(0));
  }
  return attend;
}

AttentionChoice choose_attention(AttentionCase c, const std::optional<InferenceAttend>& inference,
                                 std::string_view kernel) {
  c.dropout = c.dropout && c.needs_grad;
  if (kernel != "auto" && kernel != "check") {
    return {std::string(select_attention_kernel(c, kernel).name)};
  }
  const bool in_form = inference && !c.needs_grad && has_inference_form(c.device, c.dtype);
  if (in_form && c.device.is_cpu()) return {std::string(kStreamed)};
  if (in_form && inference->form != AttendForm::kPlain) {
    c.qk_channels = inference->qk_channels, c.v_channels = inference->v_channels;
    const std::string refusal = wide_refusal(c);
    if (refusal.empty()) return {std::string(kWide)};
    return {std::string(kWideBlocks), {fmt::format("{}: {}", kWide, refusal)}};
  }
  return {std::string(select_attention_kernel(c).name), attention_refusals(c)};
}

int64_t scores_held(const AttentionCase& c, std::string_view name) {
  const int64_t of_query = c.batch * c.heads * c.keys;
  if (name == "reference") return 2 * c.queries * of_query;
  if (name == kWideBlocks) return 2 * wide_block_scores(c);
  if (name == "blocks") return std::min(c.queries, queries_at_once(c)) * of_query;
  return 0;
}

}  // namespace perceiver
