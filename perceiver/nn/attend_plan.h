// How an attend is computed, told without computing it: a function of the attend's shape, the
// number of elements, a description of the device, the dtype and what the thread is at. Modules and
// their forms compute by the same plan that is printed and that memory is planned from.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perceiver/kernels/attention/attention.h"
#include "perceiver/nn/fold.h"

namespace perceiver {

// The attention of one example, as kernels see it.
AttentionCase attention_case(const AttendShape& shape, int64_t queries, int64_t keys);

// A module's own operations, its training form (nn/fused.h), or its inference form (nn/packed.h).
enum class AttendWay { kModule, kTraining, kInference };

// What a thread computes in, beside devices and dtypes.
struct AttendMode {
  std::string_view kernel = "auto";  // of attention, as Run has it
  bool gradients = false;            // are wanted, or will be
  bool autocast = false;             // to the dtype
  bool plain = false;                // by modules' own operations
  bool fused = false;                // in the training form wherever gradients are wanted
};
// This thread's, for tensors on the device.
AttendMode attend_mode(at::DeviceType device);

// The way of a module without dropout whose elements have so many channels.
bool may_infer(const AttendMode& mode);  // in the inference form, where there is one
AttendWay attend_way(const Hardware& device, at::ScalarType dtype, const AttendMode& mode,
                     int64_t channels);

struct AttendPlan {
  AttendWay way = AttendWay::kModule;
  AttendForm form = AttendForm::kPlain;
  AttentionCase attention;  // as what computes it gets it
  // A kernel of attend(), "streamed" (kernels/attention/stream.h), or "wide" or "wide_blocks"
  // (kernels/attention/wide_attention.h), which the inference form calls by itself.
  std::string_view kernel;
  // What multiplies elements by weights: "panels" (kernels/linear/panel_linear.h), "gemm_sm90" and
  // "cublaslt" (kernels/linear/), "library" (LibTorch's), or "narrow_mlp_sm90" for an MLP as a
  // whole.
  std::string_view product;
};

// `c` has the sizes of the module's attention, with its device and dtype. Modules without an
// inference form have no shape.
AttendPlan plan_attend(const std::optional<AttendShape>& shape, AttentionCase c,
                       const AttendMode& mode);

// The same in the inference form, as the forms themselves ask: the one for CPUs, and the one for
// GPUs, which any device can compute.
AttendPlan plan_for_cpu(const AttendShape& shape, const AttentionCase& c);
AttendPlan plan_for_gpu(const AttendShape& shape, const AttentionCase& c);

// Why faster kernels of attention are not the plan's: "wide: needs bfloat16 or float16, got Float".
std::vector<std::string> refusals(const AttendPlan& plan);

// How many values of scores, and of their softmax, exist at one time.
int64_t scores_held(const AttendPlan& plan);

// While it lives, is told of every plan that an inference form of this thread executes.
struct AttendPlanObserver : RunScope {
  explicit AttendPlanObserver(std::function<void(const AttendPlan&)> see)
      : RunScope([&](Run& run) { run.plan_observer = std::move(see); }) {}
};
// A plan that is about to be executed.
const AttendPlan& told(const AttendPlan& plan);

std::string_view to_word(AttendWay way);
std::string_view to_word(AttendForm form);

}  // namespace perceiver
