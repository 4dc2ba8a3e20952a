// The inference form of the attend modules: norms folded into the weights, products fused, arrays
// projected only where a projection saves work. The modules are the definition; this is derived
// from them, and again when their parameters change. It has no gradients.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/linear/linear.h"
#include "perceiver/kernels/norm/normalised_rows.h"
#include "perceiver/nn/fold.h"

namespace perceiver {

class PackedAttend {
 public:
  virtual ~PackedAttend() = default;

  // x_q [B, N, D], x_kv [B, M, C] -> [B, N, D], as CrossAttend gives, or [B, N, E] where the parts
  // have an output layer
  virtual Tensor cross(const Tensor& x_q, const Tensor& x_kv, const AttendMasks& masks) = 0;
  // The same where x_kv is made of what the parts call inputs, without making it: keys and values
  // are looked up. Undefined where that would not be less work.
  virtual Tensor cross_placed(const Tensor& x_q, const PlacedArray& x_kv,
                              const AttendMasks& masks) = 0;
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
  struct Seen {
    const void* data;
    int64_t version;
    bool operator==(const Seen&) const = default;
  };
  std::mutex mutex_;
  at::ScalarType dtype_ = at::kFloat;
  std::vector<Seen> seen_;  // of the parameters it was made from
  std::shared_ptr<PackedAttend> packed_;
};

// Not where a gradient is or will be wanted, or somebody asks for a kernel of attention by name, or
// looks at queries and keys.
bool packed_attend_allowed();

// Whether attends may get an array as what it is made of: they run in their packed form, and nobody
// compares.
bool unmade_inputs_allowed();

// Whether those that get inputs like these may get them as KnownRows: the same, on a GPU.
bool normalised_inputs_allowed(const Tensor& like);

// Whether they gain from a KnownGrid: they run on a CPU in their packed form.
bool grid_inputs_allowed(const Tensor& like);

// While it lives, modules on this thread compute by their own operations, in neither the inference
// form nor the training form (nn/fused.h).
struct PlainAttendScope : RunScope {
  PlainAttendScope() : RunScope([](Run& run) { run.plain_attends = true; }) {}
};

// Fails unless `out` is what the module gives, up to rounding.
void check_packed(const Tensor& out, const Tensor& expected);

}  // namespace perceiver
