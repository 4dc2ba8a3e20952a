// How a thread computes: every switch that changes what a call does without being its argument. One
// value, set by one scope and carried by one pointer of the thread. A worker thread starts with the
// defaults, unless it takes over another thread's value.
#pragma once

#include <c10/core/ScalarType.h>

#include <atomic>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace perceiver {

struct AttentionCase;
struct AttentionInputs;
struct AttendPlan;
class NarrowWeights;
enum class Construct;

// What an observer of attention says: whether the pass is to go on.
enum class Observed { kGoOn, kEnough };

struct Run {
  // Of attention: a kernel's name, "auto", or "check" (kernels/attention/attention.h).
  std::string kernel = "auto";
  std::function<Observed(const AttentionInputs&)> observer = {};
  // What the observer has said; the scope sees to it that there is one.
  std::shared_ptr<std::atomic<bool>> seen_enough = {};
  std::function<void(const AttentionCase&, std::string_view kernel)> counter = {};
  std::function<void(const AttendPlan&)> plan_observer = {};  // nn/attend_plan.h

  bool plain_attends = false;  // neither the inference form nor the training form (nn/packed.h)
  bool fused_attends = false;  // the training form without its kernels, too (nn/fused.h)
  bool recompute = false;      // nn/recompute.h
  NarrowWeights* narrow_weights = nullptr;
  Construct construct = {};  // nn/init.h
  int64_t* flops = nullptr;  // where model/flops.h adds up, on the thread that asked

  // LibTorch's own switches stay LibTorch's. They are here for a worker to take over, and nowhere
  // else: none in current_run(), all of them in run_of_this_thread().
  struct LibTorch {
    bool gradients;
    at::ScalarType autocast_cpu, autocast_cuda;  // float32: off
  };
  std::optional<LibTorch> libtorch = {};
};

const Run& current_run();
Run run_of_this_thread();  // to be taken over by another

// While it lives, this thread computes so. Scopes end in the reverse order of their beginning, on
// their own thread.
class RunScope {
 public:
  // As `run` says, LibTorch's switches too where it has them: what a worker begins with. Observer
  // and counter are then called on the worker, perhaps by several at a time.
  explicit RunScope(Run run);

  // As before, but for what `change` makes of it.
  template <std::invocable<Run&> Change>
  explicit RunScope(const Change& change) : RunScope(changed(change)) {}

  ~RunScope();
  RunScope(const RunScope&) = delete;

 private:
  template <typename Change>
  static Run changed(const Change& change) {
    Run run = current_run();
    change(run);
    return run;
  }

  class TakenOver;
  Run run_;
  const Run* before_;
  std::unique_ptr<TakenOver> libtorch_;
};

// Whether an observer has seen enough: attends give anything of the right shape, without work.
inline bool pass_is_over() {
  const auto& enough = current_run().seen_enough;
  return enough && enough->load();
}

}  // namespace perceiver
