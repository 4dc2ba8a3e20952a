#include "perceiver/nn/recompute.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "perceiver/core/autocast.h"
#include "perceiver/nn/attention.h"

namespace perceiver {
namespace {

// The most bytes of tensors that this thread holds at once.
class PeakBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    now += bytes;
    peak = std::max(peak, now);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t now = 0, peak = 0;
};

// A stack of self-attends, each used several times: as the encoder's blocks share weights.
struct Stack {
  explicit Stack(double dropout = 0.0) {
    for (int i = 0; i < 4; ++i) {
      layers.emplace_back(32, AttendConfig{.num_heads = 4, .dropout = dropout});
    }
  }

  Tensor operator()(Tensor z) {
    for (int block = 0; block < blocks; ++block) {
      for (SelfAttend layer : layers) {
        z = recompute(*layer, {z},
                      [layer](const std::vector<Tensor>& x) mutable { return layer(x[0]); });
      }
    }
    return z;
  }

  // Gradients of the input and of every parameter.
  std::vector<Tensor> gradients(const Tensor& input, bool recomputes) {
    const RecomputeScope scope(recomputes);
    at::manual_seed(7);
    std::vector<Tensor> of = {input};
    for (SelfAttend& layer : layers) {
      for (const Tensor& p : layer->parameters()) of.push_back(p);
    }
    return torch::autograd::grad({(*this)(input).square().sum()}, of);
  }

  int blocks = 2;
  std::vector<SelfAttend> layers;
};

Tensor random_input(int64_t elements = 16) { return at::randn({2, elements, 32}).requires_grad_(); }

// Up to `tolerance` of the largest gradient: those of key biases are zero but for rounding.
void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (const Tensor& t : b) largest = std::max(largest, t.abs().max().item<double>());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_LE((a[i] - b[i]).abs().max().item<double>(), tolerance * largest) << i;
  }
}

// The forward pass that keeps nothing may take a kernel without a backward pass: other rounding,
// through eight layers. bfloat16 has 8 bits.
constexpr double kFloat32 = 1e-5, kBFloat16 = 3e-2;

TEST(Recompute, GradientsAreTheSameWithSharedWeights) {
  at::manual_seed(1);
  Stack stack;
  const Tensor input = random_input();
  expect_same(stack.gradients(input, true), stack.gradients(input, false), kFloat32);
}

TEST(Recompute, DropoutDropsTheSameAgain) {
  at::manual_seed(1);
  Stack stack(/*dropout=*/0.5);
  const Tensor input = random_input();
  expect_same(stack.gradients(input, true), stack.gradients(input, false), kFloat32);
}

TEST(Recompute, GradientsAreTheSameUnderAutocast) {
  at::manual_seed(1);
  Stack stack;
  const Tensor input = random_input();
  const AutocastScope autocast(at::kCPU, at::kBFloat16);
  expect_same(stack.gradients(input, true), stack.gradients(input, false), kBFloat16);
}

TEST(Recompute, ParametersLearnWhenNoInputNeedsAGradient) {
  Stack stack;
  const RecomputeScope scope(true);
  stack(at::randn({2, 16, 32})).sum().backward();
  for (const Tensor& p : stack.layers[0]->parameters()) EXPECT_TRUE(p.grad().defined());
}

TEST(Recompute, HoldsLessMemory) {
  Stack stack;
  stack.blocks = 8;
  const auto peak = [&](bool recomputes) {
    const Tensor input = random_input(256);
    auto bytes = std::make_shared<PeakBytes>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
    stack.gradients(input, recomputes);
    return bytes->peak;
  };
  const int64_t kept = peak(false), recomputed = peak(true);
  // 32 layers hold their inputs alone, and one at a time what its backward pass needs.
  EXPECT_LT(recomputed, kept / 3) << recomputed << " of " << kept;
}

}  // namespace
}  // namespace perceiver
