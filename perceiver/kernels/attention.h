// softmax(Q K^T / sqrt(F)) V, by the fastest kernel that takes the case (paper, Eq. 2-3).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "perceiver/core/tensor.h"

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
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  int64_t batch = 1, heads = 1, queries = 0, keys = 0, qk_channels = 0, v_channels = 0;
  bool masked = false;
  bool dropout = false;
  bool needs_grad = false;
};

struct AttentionKernel {
  std::string_view name;
  // Why the kernel cannot take the case; empty when it can.
  std::string (*refusal)(const AttentionCase&);
  Tensor (*run)(const AttentionInputs&);
};

// The first kernel that takes the case, or the one named; fails with every reason if none does.
AttentionKernel select_attention_kernel(const AttentionCase& c, std::string_view name = "auto");

// The kernels that were passed over for this case, fastest first, and why: "tiled: needs the CPU".
std::vector<std::string> attention_refusals(const AttentionCase& c);

// -> [B, H, N, V]. A query with no key to attend to gets zeros. `kernel` is a kernel's name,
// "auto", or "check": auto's choice, compared with the definition.
Tensor attend(const AttentionInputs& inputs, std::string_view kernel);
Tensor attend(const AttentionInputs& inputs);  // by the kernel of the innermost scope, or auto

// Fails unless `out`, by `kernel`, is what the definition gives, up to rounding.
void check_attention(const AttentionInputs& inputs, const Tensor& out, std::string_view kernel);

// Whether attention has to be computed as queries, keys and values, because a kernel is asked for
// by name or an observer looks at them; and whether fast forms are to be compared with plain ones.
bool attention_must_be_plain();
bool attention_is_checked();

// While it lives, attend() without a name uses this kernel, in the whole program.
class AttentionKernelScope {
 public:
  explicit AttentionKernelScope(std::string kernel);
  ~AttentionKernelScope();
  AttentionKernelScope(const AttentionKernelScope&) = delete;

 private:
  std::string before_;
};

// While it lives, sees the inputs of every attend() in the whole program, before it is computed:
// for pictures of what a model looks at. The innermost alone is called.
class AttentionObserver {
 public:
  using Function = std::function<void(const AttentionInputs&)>;

  explicit AttentionObserver(Function see);
  ~AttentionObserver();
  AttentionObserver(const AttentionObserver&) = delete;

 private:
  Function before_;
};

// While it lives, is told of every attention in the whole program, in whatever form it is computed,
// before it is: to tell how far a pass has come. The innermost alone is told.
class AttentionCounter {
 public:
  using Function = std::function<void(const AttentionCase&)>;

  explicit AttentionCounter(Function count);
  ~AttentionCounter();
  AttentionCounter(const AttentionCounter&) = delete;

 private:
  Function before_;
};
void count_attention(const AttentionCase& c);  // for forms that do not call attend()

}  // namespace perceiver
