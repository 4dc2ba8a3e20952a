#include "perceiver/train/step_memory.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

class TensorBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device device) override {
    if (!device.is_cpu()) return;
    held_ += bytes;  // less than 0 where they are given back
    peak_ = std::max(peak_, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t peak() const { return peak_; }

 private:
  int64_t held_ = 0, peak_ = 0;
};

double gib(int64_t bytes) { return static_cast<double>(bytes) / 0x1p30; }

int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The most examples that a rank takes at once.
int64_t examples_at_once(const TrainConfig& config, int64_t accumulate, int64_t ranks) {
  return quotient_up(config.batch, quotient_up(accumulate, ranks) * ranks);
}

// The fewest small batches that a step can be cut into so that each fits; 0: there are none.
int64_t fitting_accumulate(const StepMemory& step, const TrainConfig& config, int64_t free_bytes,
                           int64_t ranks) {
  for (int64_t parts = config.accumulate; parts <= config.batch; ++parts) {
    if (config.batch % parts != 0) continue;
    if (step.of(examples_at_once(config, parts, ranks)) <= free_bytes) return parts;
  }
  return 0;
}

}  // namespace

int64_t peak_tensor_bytes(const std::function<void()>& work) {
  const auto bytes = std::make_shared<TensorBytes>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
  work();
  return bytes->peak();
}

void check_memory(const StepMemory& step, const TrainConfig& config, int64_t free_bytes,
                  int64_t ranks) {
  const int64_t examples = examples_at_once(config, config.accumulate, ranks);
  const int64_t needed = step.of(examples);
  if (needed <= free_bytes) return;
  const std::string problem =
      fmt::format("a step of {} examples at once takes about {:.1f} GiB of memory, {:.1f} are free",
                  examples, gib(needed), gib(free_bytes));
  if (const int64_t parts = fitting_accumulate(step, config, free_bytes, ranks)) {
    fail("{}; train.accumulate={} takes about {:.1f} and trains the same", problem, parts,
         gib(step.of(examples_at_once(config, parts, ranks))));
  }
  fail("{}, and one example takes about {:.1f}; {}", problem, gib(step.of(1)),
       config.recompute ? "take a smaller model" : "try train.recompute=true, or a smaller model");
}

}  // namespace perceiver
