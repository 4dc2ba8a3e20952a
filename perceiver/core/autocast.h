// Mixed precision: products in a narrower dtype, everything that needs range in float32.
#pragma once

#include <ATen/autocast_mode.h>

namespace perceiver {

// While it lives, this thread's operations on such a device choose their dtype as LibTorch's
// autocast lists say; with at::kFloat they do not.
class AutocastScope {
 public:
  AutocastScope(at::DeviceType device, at::ScalarType dtype)
      : device_(device),
        enabled_before_(at::autocast::is_autocast_enabled(device)),
        dtype_before_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::increment_nesting();
    at::autocast::set_autocast_enabled(device, dtype != at::kFloat);
    if (dtype != at::kFloat) at::autocast::set_autocast_dtype(device, dtype);
  }

  ~AutocastScope() {
    // Weights that were cast are kept for the scope, and no longer: they change.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, enabled_before_);
    at::autocast::set_autocast_dtype(device_, dtype_before_);
  }
  AutocastScope(const AutocastScope&) = delete;

 private:
  at::DeviceType device_;
  bool enabled_before_;
  at::ScalarType dtype_before_;
};

}  // namespace perceiver
