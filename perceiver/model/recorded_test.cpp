#include "perceiver/model/recorded.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/nn/attention.h"

namespace perceiver {
namespace {

// A self-attend whose forward passes are recorded, and how often it was really called.
struct Watched {
  explicit Watched(at::Device device) { module->to(device); }

  Tensor operator()(const Tensor& z) {
    at::NoGradGuard no_grad;
    return recorded(*module, {z}, [this](const std::vector<Tensor>& x) {
      ++calls;
      return module(x[0]);
    });
  }

  SelfAttend module{16, AttendConfig{.num_heads = 2}};
  RecordedForward recorded;
  int calls = 0;
};

TEST(RecordedForward, CallsEachTimeOnACpu) {
  Watched watched(at::kCPU);
  const Tensor z = at::randn({1, 5, 16});
  const Tensor expected = watched(z);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(watched(z).equal(expected));
  EXPECT_EQ(watched.calls, 5);
}

// Once for each call, whether it was called, recorded or replayed.
TEST(RecordedForward, CountsTheAttentionsOfEveryPass) {
  for (const at::Device device : {at::Device(at::kCPU), at::Device(at::kCUDA)}) {
    if (device.is_cuda() && !at::hasCUDA()) GTEST_SKIP() << "the rest needs a GPU";
    Watched watched(device);
    int64_t counted = 0;
    const AttentionCounter counter([&](const AttentionCase& c, std::string_view kernel) {
      ++counted;
      EXPECT_EQ(c.queries, 5);
      EXPECT_FALSE(kernel.empty());
    });
    for (int i = 1; i <= 6; ++i) {
      watched(at::randn({1, 5, 16}, device));
      EXPECT_EQ(counted, i) << device.str();
    }
  }
}

TEST(RecordedForward, RepeatsOnAGpuWithNewInputsAndNewParameters) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  Watched watched(at::kCUDA);
  const auto expect_right = [&] {
    for (int i = 0; i < 5; ++i) {
      const Tensor z = at::randn({2, 5, 16}, at::kCUDA);
      const Tensor got = watched(z);
      at::NoGradGuard no_grad;
      EXPECT_TRUE(at::allclose(got, watched.module(z), 1e-4, 1e-5)) << i;
    }
  };
  expect_right();
  EXPECT_EQ(watched.calls, 4);  // two, one before recording, one recorded
  {
    at::NoGradGuard no_grad;
    for (Tensor& p : watched.module->parameters()) p.add_(0.1);
  }
  expect_right();
  EXPECT_EQ(watched.calls, 8);
}

// As a model gives that pads its outputs' channels.
TEST(RecordedForward, KeepsItsOwnCopyOfAnOutputWithGaps) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  at::NoGradGuard no_grad;
  SelfAttend module(16, AttendConfig{.num_heads = 2});
  RecordedForward recorded;
  std::vector<Tensor> outputs;
  for (int i = 0; i < 5; ++i) {
    const Tensor z = at::full({2, 5, 16}, static_cast<double>(i), at::kCUDA);
    outputs.push_back(recorded(
        *module, {z}, [](const std::vector<Tensor>& x) { return (x[0] * 2).narrow(2, 0, 14); }));
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(outputs[i].sizes(), (std::vector<int64_t>{2, 5, 14}));
    EXPECT_TRUE(outputs[i].eq(2.0 * i).all().item<bool>()) << i;
  }
}

}  // namespace
}  // namespace perceiver
