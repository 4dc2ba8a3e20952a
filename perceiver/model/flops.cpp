#include "perceiver/model/flops.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <string_view>

#include "perceiver/kernels/attention/attention.h"

namespace perceiver {
namespace {

int64_t numel(const c10::IValue& value) { return value.toTensor().numel(); }
int64_t size(const c10::IValue& value, int64_t dim) { return value.toTensor().size(dim); }

// The operations everything else ends in; matmul and linear call them, and are not counted again.
int64_t flops_of(std::string_view name, c10::ArrayRef<const c10::IValue> in) {
  if (name == "aten::mm" || name == "aten::bmm") return 2 * numel(in[0]) * size(in[1], -1);
  if (name == "aten::addmm" || name == "aten::baddbmm" || name == "aten::addmm_") {
    return 2 * numel(in[1]) * size(in[2], -1);
  }
  if (name == "aten::mv" || name == "aten::dot") return 2 * numel(in[0]);
  return 0;
}

// A convolution's cost depends on its output's size, so it is counted when it ends.
struct Convolution : at::ObserverContext {
  int64_t flops_per_output = 0;
};

std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  auto context = std::make_unique<Convolution>();
  if (name == "aten::convolution") {
    const Tensor weight = function.inputs()[1].toTensor();
    context->flops_per_output = 2 * weight.numel() / weight.size(0);
  } else {
    *current_run().flops += flops_of(name, function.inputs());
  }
  return context;
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  const int64_t each = static_cast<Convolution*>(context)->flops_per_output;
  if (each > 0) *current_run().flops += each * numel(function.outputs()[0]);
}

// Ends with its scope, also when the pass fails: the callback writes to this thread's count.
class Recording {
 public:
  Recording()
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(start, end)
                                               .needsInputs(true)
                                               .needsOutputs(true)
                                               .scopes({at::RecordScope::FUNCTION}))) {}
  ~Recording() { at::removeCallback(handle_); }
  Recording(const Recording&) = delete;

 private:
  at::CallbackHandle handle_;
};

}  // namespace

int64_t recorded_flops(const std::function<void()>& run) {
  int64_t count = 0;
  const RunScope scope([&](Run& r) {
    r.kernel = "reference";
    r.flops = &count;
  });
  run();
  count = 0;
  const at::RecordFunctionGuard record(true);
  const Recording recording;
  run();
  return count;
}

}  // namespace perceiver
