#include "perceiver/nn/packed.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <iterator>

#include "perceiver/core/error.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/nn/attend_plan.h"
#include "perceiver/nn/packed_forms.h"

namespace perceiver {
namespace {

at::ScalarType packing_dtype(const Tensor& parameter) {
  const at::DeviceType device = parameter.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device)
                                                   : parameter.scalar_type();
}

std::shared_ptr<PackedAttend> pack(const AttendParts& parts, at::ScalarType dtype) {
  const at::Device device = parts.q->weight.device();
  const AttendWay way = attend_way(device, dtype, attend_mode(device.type()), /*channels=*/0);
  if (way != AttendWay::kInference) return nullptr;
  return device.is_cpu() ? pack_for_cpu(parts, dtype) : pack_for_gpu(parts, dtype);
}

}  // namespace

bool packed_attend_allowed() { return may_infer(attend_mode(at::kCPU)); }

std::shared_ptr<PackedAttend> PackedCache::get(const torch::nn::Module& module,
                                               const std::function<AttendParts()>& parts,
                                               const std::vector<Tensor>& tied) {
  if (!packed_attend_allowed()) return nullptr;
  std::vector<Tensor> parameters = module.parameters();
  std::ranges::copy_if(tied, std::back_inserter(parameters), &Tensor::defined);
  const at::ScalarType dtype = packing_dtype(parameters[0]);
  const std::lock_guard lock(mutex_);
  auto& packed = packed_.slot(parameters);
  if (!packed || dtype_ != dtype) {
    packed = pack(parts(), dtype);
    dtype_ = dtype;
  }
  return *packed;
}

void check_packed(const Tensor& out, const Tensor& expected) {
  // In 16 bits both round at every step of an attend: over draws of small models they were up to
  // 3.9e-2 apart on a GPU. A wrong form is apart by as much as its results.
  const double tolerance = out.scalar_type() == at::kFloat ? 1e-4 : 6e-2;
  const Tensor wide = expected.to(at::kFloat);
  const double apart = (out.to(at::kFloat) - wide).abs().max().item<double>();
  const double allowed = tolerance * std::max(wide.abs().max().item<double>(), 1e-3);
  if (!(apart <= allowed)) {
    fail("the packed form of an attend differs from its module by {:.3g} (allowed {:.3g})", apart,
         allowed);
  }
}

}  // namespace perceiver
