// The inference form of the attend modules: norms folded into the weights, products fused, arrays
// projected only where a projection saves work. The modules are the definition; this is derived
// from them, and again when their parameters change. It has no gradients.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "perceiver/kernels/linear/linear.h"
#include "perceiver/kernels/run.h"
#include "perceiver/nn/array.h"
#include "perceiver/nn/fold.h"
#include "perceiver/nn/kept_for.h"

namespace perceiver {

class PackedAttend {
 public:
  virtual ~PackedAttend() = default;

  // x_q [B, N, D], x_kv [B, M, C] -> [B, N, D], as CrossAttend gives, or [B, N, E] where the parts
  // have an output layer
  virtual Tensor cross(const Array& x_q, const Array& x_kv, const AttendMasks& masks) = 0;
  // z [B, N, D] -> [B, N, D], as SelfAttend gives, with what the next one's norm needs
  virtual MeasuredRows self(const MeasuredRows& z) = 0;
};

// Where a module keeps its inference form.
class PackedCache {
 public:
  // The form for the parameters' device, in their dtype or autocast's. Null where there is none,
  // and where it may not be used now (packed_attend_allowed). `tied` are parameters it is made
  // from that are not the module's; they may be undefined.
  std::shared_ptr<PackedAttend> get(const torch::nn::Module& module,
                                    const std::function<AttendParts()>& parts,
                                    const std::vector<Tensor>& tied = {});

 private:
  std::mutex mutex_;
  at::ScalarType dtype_ = at::kFloat;
  KeptFor<std::shared_ptr<PackedAttend>> packed_;  // for the parameters it was made from
};

// Not where a gradient is or will be wanted, or somebody asks for a kernel of attention by name, or
// looks at queries and keys.
bool packed_attend_allowed();

// While it lives, modules on this thread compute by their own operations, in neither the inference
// form nor the training form (nn/fused.h).
struct PlainAttendScope : RunScope {
  PlainAttendScope() : RunScope([](Run& run) { run.plain_attends = true; }) {}
};

// Fails unless `out` is what the module gives, up to rounding.
void check_packed(const Tensor& out, const Tensor& expected);

}  // namespace perceiver
