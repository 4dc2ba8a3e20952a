// What every shipped recipe trains with, all at once.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "perceiver/core/autocast.h"
#include "perceiver/nn/fused.h"
#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

constexpr int kSteps = 24, kEvaluatesEvery = 5;

struct Seen {
  std::vector<double> losses, evaluations;
  std::vector<int64_t> operations;  // that this thread gave to LibTorch in each step
};

// While it lives, counts operations of this thread.
class OperationCounter {
 public:
  OperationCounter()
      : handle_(at::addThreadLocalCallback(at::RecordFunctionCallback(
            [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
              ++count;
              return nullptr;
            }))) {}
  ~OperationCounter() { at::removeCallback(handle_); }
  OperationCounter(const OperationCounter&) = delete;

  static thread_local int64_t count;

 private:
  at::CallbackHandle handle_;
};
thread_local int64_t OperationCounter::count = 0;

class ProductionTest : public TrainTest {
 protected:
  Seen run(at::Device device, bool recorded) {
    const std::string name = recorded ? "recorded" : "launched";
    Model model = make({"train.dtype=bfloat16", "train.optimizer=adamw", "train.average=0.9",
                        "train.learning_rate=0.02", "train.warmup_steps=1", "train.clip=1.0",
                        fmt::format("train.steps={}", kSteps),
                        fmt::format("train.eval_every={}", kEvaluatesEvery),
                        fmt::format("train.graph={}", recorded)});
    Seen seen;
    const OperationCounter counter;
    TrainerOptions options;
    options.device = device;
    options.stepped = [&](const StepReport& report) {
      seen.losses.push_back(report.figures.at("loss"));
      seen.operations.push_back(std::exchange(OperationCounter::count, 0));
    };
    options.say = [&](const std::string& line) {
      const size_t loss = line.find("  loss ");
      if (loss != std::string::npos) seen.evaluations.push_back(std::stod(line.substr(loss + 7)));
      OperationCounter::count = 0;  // an evaluation is no part of a step
    };
    RunFolder run_folder = RunFolder::create(folder / name, "", "");
    EXPECT_EQ(Trainer(model, options).run(run_folder), 0);
    return seen;
  }
};

// The training form for this device, in bfloat16.
bool is_fused_on(at::Device device) {
  const AutocastScope autocast(device.type(), at::kBFloat16);
  return fused_dtype(at::ones({1, 16}, at::TensorOptions(device).requires_grad(true))) ==
         at::kBFloat16;
}

// The same kernels on the same numbers: what may differ is the order of a few sums, by bfloat16's
// rounding a fiftieth of how far the steps move the loss. A step that was lost, or made from
// weights of before an evaluation, is further off.
TEST_F(ProductionTest, RecordedStepsAreTheLaunchedOnesWithEvaluationsOfTheAverageInBetween) {
  if (!at::hasCUDA()) {
    GTEST_SKIP() << "needs a GPU: bfloat16, fused, recorded, averaged and evaluated in between, as "
                    "recipes train, was NOT tested";
  }
  ASSERT_TRUE(is_fused_on(at::kCUDA));
  const Seen launched = run(at::kCUDA, false), recorded = run(at::kCUDA, true);
  ASSERT_EQ(recorded.losses.size(), size_t{kSteps});
  ASSERT_EQ(launched.losses.size(), size_t{kSteps});
  EXPECT_LT(2 * recorded.operations[kSteps - 2], launched.operations[kSteps - 2]) << "not replayed";

  const double moved = launched.losses.front() - launched.losses.back();
  EXPECT_GT(moved, 0.3);
  for (size_t i = 0; i < launched.losses.size(); ++i) {
    EXPECT_NEAR(recorded.losses[i], launched.losses[i], 0.02 * moved) << "step " << i + 1;
  }
  ASSERT_EQ(launched.evaluations.size(), size_t{kSteps / kEvaluatesEvery + 1});
  ASSERT_EQ(recorded.evaluations.size(), launched.evaluations.size());
  for (size_t i = 0; i < launched.evaluations.size(); ++i) {
    EXPECT_NEAR(recorded.evaluations[i], launched.evaluations[i], 0.02 * moved) << i;
  }
}

}  // namespace
}  // namespace perceiver
