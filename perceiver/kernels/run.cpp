#include "perceiver/kernels/run.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <utility>

#include "perceiver/core/autocast.h"

namespace perceiver {
namespace {

thread_local const Run* current = nullptr;

at::ScalarType autocast_dtype(at::DeviceType device) {
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device)
                                                   : at::kFloat;
}

}  // namespace

class RunScope::TakenOver {
 public:
  explicit TakenOver(const Run::LibTorch& switches)
      : gradients_(switches.gradients),
        cpu_(at::kCPU, switches.autocast_cpu),
        cuda_(at::kCUDA, switches.autocast_cuda) {}

 private:
  at::AutoGradMode gradients_;
  AutocastScope cpu_, cuda_;
};

const Run& current_run() {
  static const Run usual;
  return current ? *current : usual;
}

Run run_of_this_thread() {
  Run run = current_run();
  run.libtorch = {.gradients = at::GradMode::is_enabled(),
                  .autocast_cpu = autocast_dtype(at::kCPU),
                  .autocast_cuda = autocast_dtype(at::kCUDA)};
  return run;
}

RunScope::RunScope(Run run) : run_(std::move(run)), before_(std::exchange(current, &run_)) {
  if (run_.libtorch) libtorch_ = std::make_unique<TakenOver>(*run_.libtorch);
  run_.libtorch.reset();
  if (run_.observer && !run_.seen_enough) {
    run_.seen_enough = std::make_shared<std::atomic<bool>>(false);
  }
}

RunScope::~RunScope() {
  // Else `current` would be left pointing at nothing.
  TORCH_INTERNAL_ASSERT(current == &run_, "a scope of Run outlives one that began before it");
  current = before_;
}

}  // namespace perceiver
