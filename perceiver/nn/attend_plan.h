// What computes an attend's attention, told without computing it: to be printed, and to plan
// memory. Modules and their forms decide by the same functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/nn/fold.h"

namespace perceiver {

// Whether there is an inference form (nn/packed.h) for products in this dtype.
bool has_inference_form(at::Device device, at::ScalarType dtype);

// How an attend is computed in that form.
struct InferenceAttend {
  AttendForm form = AttendForm::kPlain;
  // Where keys or queries are absorbed: the channels that a GPU multiplies.
  int64_t qk_channels = 0, v_channels = 0;
};
InferenceAttend inference_attend(const AttendParts& parts, int64_t queries, int64_t keys);

struct AttentionChoice {
  // A kernel of attend(), "streamed" (kernels/attention/stream.h), or "wide" or "wide_blocks"
  // (kernels/attention/wide_attention.h), which the inference form calls by itself.
  std::string name;
  std::vector<std::string> refusals = {};  // of the faster ones: "wide: needs bfloat16 or float16"
};

// What the case gets on its device, in its dtype, with gradients where it needs them. Modules
// without an inference form have no `inference`. `kernel` is Run's: one that is named is what runs,
// and there is no inference form then.
AttentionChoice choose_attention(AttentionCase c, const std::optional<InferenceAttend>& inference,
                                 std::string_view kernel = "auto");

// How many values of scores, and of their softmax, exist at one time in the case.
int64_t scores_held(const AttentionCase& c, std::string_view name);

}  // namespace perceiver
