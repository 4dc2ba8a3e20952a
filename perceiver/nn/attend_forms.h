// How attend modules are computed: by their definition (attention.h), in the training form
// (fused.h), or in the inference form (packed.h), as attend_plan.h says for what the thread is at.
#pragma once

#include <vector>

#include "perceiver/nn/array.h"
#include "perceiver/nn/attention_config.h"
#include "perceiver/nn/packed.h"

namespace perceiver {

class CrossAttendImpl;
class SelfAttendImpl;
class CrossAttend;
class SelfAttend;

// Of one module: where its inference form is kept.
class AttendForms {
 public:
  Tensor cross(CrossAttendImpl& module, const Array& x_q, const Array& x_kv,
               const AttendMasks& masks);
  Tensor self(SelfAttendImpl& module, const Tensor& z);
  // With what the next norm needs, where the form leaves that.
  MeasuredRows self_measured(SelfAttendImpl& module, const MeasuredRows& z);

 private:
  PackedCache packed_;
};

// Of a cross-attend with an output layer behind it, which may be undefined: it is part of the form.
class OutputForms {
 public:
  Tensor cross(CrossAttend attend, const LinearMap& output, const Array& x_q, const Array& x_kv,
               const AttendMasks& masks);

 private:
  PackedCache packed_;
};

// The same in a way that the backward pass may repeat (recompute.h).
Tensor attended(CrossAttend attend, const Array& x_q, const Array& x_kv, const AttendMasks& masks);

// One after another: z [B, N, D] -> [B, N, D]
Tensor attended_in_turn(const std::vector<SelfAttend>& self_attends, Tensor z);

}  // namespace perceiver
