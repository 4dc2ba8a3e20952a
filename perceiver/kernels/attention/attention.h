// softmax(Q K^T / sqrt(F)) V, by the fastest kernel that takes the case (paper, Eq. 2-3).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/hardware.h"
#include "perceiver/kernels/run.h"

namespace perceiver {

struct AttentionInputs {
  Tensor q;              // [B, H, N, F]
  Tensor k;              // [B, H, M, F]
  Tensor v;              // [B, H, M, V]
  Tensor kv_mask = {};   // [B, M] bool, true: there is an element; undefined: all true
  double dropout = 0.0;  // share of the attention weights set to zero, in training
};

// What a kernel must know to say yes or no. F and V are channels of one head.
struct AttentionCase {
  Hardware device = {};
  at::ScalarType dtype = at::kFloat;
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, qk_channels = 0, v_channels = 0;
  bool masked = false;
  bool dropout = false;
  bool needs_grad = false;
};

struct AttentionKernel {
  std::string_view name;
  std::optional<at::DeviceType> device;  // none: any
  // Why the kernel cannot take the case; empty when it can. A function of the case alone: nothing
  // is allocated, and nothing asked of this machine.
  std::string (*refusal)(const AttentionCase&);
  Tensor (*run)(const AttentionInputs&);
};

// The first kernel that takes the case, or the one named; fails with every reason if none does.
AttentionKernel select_attention_kernel(const AttentionCase& c, std::string_view name = "auto");

// Fails unless there is such a kernel, or "auto" or "check", for some case on the device.
void check_attention_kernel(std::string_view name, at::Device device);

// The kernels that were passed over for this case, fastest first, and why: "tiled: needs the CPU".
std::vector<std::string> attention_refusals(const AttentionCase& c);

// -> [B, H, N, V]. A query with no key to attend to gets zeros. `kernel` is a kernel's name,
// "auto", or "check": auto's choice, compared with the definition.
Tensor attend(const AttentionInputs& inputs, std::string_view kernel);
Tensor attend(const AttentionInputs& inputs);  // by the kernel of this thread's Run

// Fails unless `out`, by `kernel`, is what the definition gives, up to rounding.
void check_attention(const AttentionInputs& inputs, const Tensor& out, std::string_view kernel);

// Whether attention has to be computed as queries, keys and values, because a kernel is asked for
// by name or an observer looks at them; and whether fast forms are to be compared with plain ones.
bool attention_must_be_plain();
bool attention_is_checked();

// While it lives, attend() without a name uses this kernel on this thread.
struct AttentionKernelScope : RunScope {
  explicit AttentionKernelScope(std::string kernel)
      : RunScope([&](Run& run) { run.kernel = std::move(kernel); }) {}
};

// While it lives, sees the inputs of every attend() of this thread, before it is computed: for
// pictures of what a model looks at. Once it has seen enough, the rest of the pass is not computed,
// and what the pass gives means nothing. Only the innermost observer is called.
struct AttentionObserver : RunScope {
  using Function = std::function<Observed(const AttentionInputs&)>;

  explicit AttentionObserver(Function see)
      : RunScope([&](Run& run) { run.observer = std::move(see), run.seen_enough.reset(); }) {}
};

// While it lives, is told of every attention of this thread, in whatever form it is computed and by
// what, before it is: to tell how far a pass has come. Only the innermost counter is called.
struct AttentionCounter : RunScope {
  using Function = std::function<void(const AttentionCase&, std::string_view kernel)>;

  explicit AttentionCounter(Function count)
      : RunScope([&](Run& run) { run.counter = std::move(count); }) {}
};
void count_attention(const AttentionCase& c, std::string_view kernel);

// What `pass` counts, kept from the counter outside: whoever replays a recorded pass counts it.
struct CountedAttention {
  AttentionCase attention;
  std::string kernel;
};
std::vector<CountedAttention> attentions_of(const std::function<void()>& pass);
void count_attentions(const std::vector<CountedAttention>& attentions);

}  // namespace perceiver
