// Two threads with one model, each with gradients off: bit for bit as one after the other. The same
// program runs under the thread sanitizer (.ci/run).
#include <gtest/gtest.h>

#include <array>
#include <latch>
#include <thread>

#include "perceiver/tasks/small_models_test.h"

namespace perceiver {
namespace {

constexpr int kPasses = 4;

// both[i](pass), kPasses times on a thread of its own, beginning at the same time.
template <typename Work>
void at_the_same_time(const std::array<Work, 2>& both) {
  std::latch ready(2);
  const auto work = [&](const Work& one) {
    ready.arrive_and_wait();
    for (int pass = 0; pass < kPasses; ++pass) one(pass);
  };
  std::thread other([&] { work(both[1]); });
  work(both[0]);
  other.join();
}

using Outputs = std::array<Tensor, kPasses>;

// Both threads' outputs; `runs` is how each of them computes.
std::array<Outputs, 2> outputs_of(const SmallModel& model, const std::array<Run, 2>& runs) {
  std::array<Outputs, 2> outputs;
  const auto work = [&](int thread) {
    return std::function<void(int)>([&, thread](int pass) {
      const RunScope scope(runs[thread]);
      const at::NoGradGuard no_grad;
      outputs[thread][pass] = model.forward();
    });
  };
  at_the_same_time(std::array{work(0), work(1)});
  return outputs;
}

const std::array<Run, 2> kAsUsual;

void expect_all_equal(const Outputs& outputs, const Tensor& expected) {
  for (const Tensor& out : outputs) EXPECT_TRUE(out.equal(expected));
}

// Neither knows what the other has made: every form, table and cache is made while both want it.
TEST(TwoThreads, WithOneNewModelAreBitForBitAsOneAfterTheOther) {
  const std::vector<SmallModel> once = small_models(at::kFloat, 3),
                                both = small_models(at::kFloat, 3);
  for (size_t i = 0; i < once.size(); ++i) {
    SCOPED_TRACE(once[i].name);
    const at::NoGradGuard no_grad;
    const Tensor expected = once[i].forward();
    ASSERT_GT(expected.std().item<double>(), 0.0);
    expect_all_equal({once[i].forward(), once[i].forward(), once[i].forward(), once[i].forward()},
                     expected);
    for (const Outputs& outputs : outputs_of(both[i], kAsUsual)) {
      expect_all_equal(outputs, expected);
    }
  }
}

// One looks at what the model does, or has another kernel: the other computes as if alone.
TEST(TwoThreads, DoNotSeeEachOthersRun) {
  for (const SmallModel& model : small_models(at::kFloat, 4)) {
    SCOPED_TRACE(model.name);
    const at::NoGradGuard no_grad;
    const Tensor usual = model.forward();
    int64_t seen = 0, counted = 0;
    auto watched = current_run();
    watched.observer = [&](const AttentionInputs&) {
      ++seen;
      return Observed::kGoOn;
    };
    watched.counter = [&](const AttentionCase&, std::string_view) { ++counted; };
    auto reference = current_run();
    reference.kernel = "reference";
    for (const auto& other : {watched, reference}) {
      const Tensor expected = [&] {
        const RunScope scope(other);
        return model.forward();
      }();
      const int64_t seen_alone = std::exchange(seen, 0);
      const auto [first, second] = outputs_of(model, {current_run(), other});
      expect_all_equal(first, usual);
      expect_all_equal(second, expected);
      EXPECT_EQ(seen, kPasses * seen_alone);
      EXPECT_EQ(std::exchange(counted, 0), (kPasses + 1) * seen_alone);
      seen = 0;
    }
  }
}

// An observer that has seen enough ends its own thread's pass.
TEST(TwoThreads, OneMayStopWhileTheOtherGoesOn) {
  for (const SmallModel& model : small_models(at::kFloat, 5)) {
    SCOPED_TRACE(model.name);
    const at::NoGradGuard no_grad;
    const Tensor usual = model.forward();
    int64_t seen = 0;
    const std::array<std::function<void(int)>, 2> both = {
        [&](int) {
          const at::NoGradGuard off;
          EXPECT_TRUE(model.forward().equal(usual));
        },
        [&](int) {
          const at::NoGradGuard off;
          const AttentionObserver observer([&](const AttentionInputs&) {
            ++seen;
            return Observed::kEnough;
          });
          model.forward();
        }};
    at_the_same_time(both);
    EXPECT_EQ(seen, kPasses);
  }
}

// Each thread asks for another grid than the last call's.
TEST(TwoThreads, GetTheFeaturesOfTheirOwnGrid) {
  GridFeatures features({8, 6}, 3);
  const auto ask = [&](std::vector<int64_t> grid) {
    const int64_t elements = grid[0] * grid[1];
    const Tensor content = at::ones({2, elements, 2});
    const Tensor expected = fourier_features(grid_positions(grid), 3, {8, 6});
    return std::function<void(int)>([&features, grid, content, expected](int) {
      for (int i = 0; i < 50; ++i) {
        const OnGrid array = *features.behind(content, grid).on_grid();
        const Tensor behind = array.positions->behind(2, content.options());
        EXPECT_TRUE(at::allclose(behind.narrow(1, 2, expected.size(1)), expected, 1e-5, 1e-5));
      }
    });
  };
  at_the_same_time(std::array{ask({8, 6}), ask({4, 5})});
}

}  // namespace
}  // namespace perceiver
