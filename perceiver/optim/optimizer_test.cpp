#include "perceiver/optim/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/optim/adamw.h"
#include "perceiver/optim/lamb.h"

namespace perceiver {
namespace {

Tensor values(std::initializer_list<double> list) {
  return at::tensor(at::ArrayRef<double>(list.begin(), list.size()), at::kDouble);
}

// Three tensors with two gradients each, small enough to be worked out on paper.
struct Worked {
  Tensor w = values({3.0, 4.0}), bias = values({0.5}), zero = values({0.0});

  void step(Optimizer& optimizer, const std::vector<Tensor>& gradients) {
    w.mutable_grad() = gradients[0];
    bias.mutable_grad() = gradients[1];
    zero.mutable_grad() = gradients[2];
    optimizer.step(/*learning_rate=*/0.01);
  }
  void first_step(Optimizer& optimizer) {
    step(optimizer, {values({1.0, -2.0}), values({0.1}), values({1.0})});
  }
  void second_step(Optimizer& optimizer) {
    step(optimizer, {values({0.5, 0.5}), values({-0.3}), values({1.0})});
  }
  std::vector<NamedParameter> parameters() {
    return {{"mlp.weight", w}, {"mlp.bias", bias}, {"bias", zero}};
  }
};

constexpr OptimizerOptions kOptions = {
    .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-6, .weight_decay = 0.1};

void expect_close(const Tensor& got, std::initializer_list<double> expected) {
  EXPECT_TRUE(at::allclose(got, values(expected), 1e-10, 1e-12)) << got;
}

// Step 1. m = 0.1 g and v = 0.001 g^2; corrected, m/0.1 = g and sqrt(v/0.001) = |g|: so the update
// is g / (|g| + 1e-6). The weight's is decayed: [0.999999, -0.9999995] + 0.1 [3, 4]
// = [1.299999, -0.5999995], of norm 1.431781; the weight's own is 5, the ratio 3.492154, and
// [3, 4] - 0.01 * 3.492154 * update = [2.954602, 4.020953]. The bias is not decayed: its update is
// 0.99999, the ratio 0.5 / 0.99999, so it moves by 0.01 * 0.5. A zero has the ratio 1.
TEST(Lamb, FollowsAnExampleWorkedOutByHand) {
  Worked p;
  Lamb lamb(p.parameters(), kOptions);
  p.first_step(lamb);
  expect_close(p.w, {2.9546020302639278, 4.020952907765813});
  expect_close(p.bias, {0.495});
  expect_close(p.zero, {-0.009999990000010001});

  // Step 2. m = [0.14, -0.13], v = [0.001249, 0.004246]; the corrections are 0.19 and 0.001999:
  // [0.7368421, -0.6842105] / ([0.7904452, 1.4574053] + 1e-6) + 0.1 w = [1.2276387, -0.0673726], of
  // norm 1.229486; the ratio is 4.989763 / 1.229486 = 4.058414.
  p.second_step(lamb);
  expect_close(p.w, {2.9047793709492318, 4.023687165102411});
  expect_close(p.bias, {0.49995});
  expect_close(p.zero, {-0.010099989900010101});
}

TEST(AdamW, FollowsAnExampleWorkedOutByHand) {
  Worked p;
  AdamW adamw(p.parameters(), kOptions);
  p.first_step(adamw);  // [3, 4] * 0.999 - 0.01 * [0.999999, -0.9999995]
  expect_close(p.w, {2.98700000999999, 4.0059999950000025});
  expect_close(p.bias, {0.490000099999});
  p.second_step(adamw);
  expect_close(p.w, {2.9746912253948743, 4.006688673495847});
  expect_close(p.bias, {0.4949419762356495});
  expect_close(p.zero, {-0.01999998000001993});
}

TEST(Optimizer, GoesOnFromItsStateAsIfItHadNotStopped) {
  Worked straight, stopped;
  Lamb one(straight.parameters(), kOptions), before(stopped.parameters(), kOptions);
  straight.first_step(one);
  straight.second_step(one);
  stopped.first_step(before);
  Lamb after(stopped.parameters(), kOptions);
  const auto saved = before.state();
  const auto loaded = after.state();
  ASSERT_EQ(saved.size(), 6u);
  EXPECT_EQ(saved[0].first, "first.mlp.weight");
  EXPECT_EQ(saved[1].first, "second.mlp.weight");
  for (size_t i = 0; i < saved.size(); ++i) Tensor(loaded[i].second).copy_(saved[i].second);
  after.set_steps(before.steps());
  stopped.second_step(after);
  EXPECT_TRUE(stopped.w.equal(straight.w));
  EXPECT_TRUE(stopped.bias.equal(straight.bias));
}

// DeepMind's rule by haiku's names: not `b`, and nothing in layer_norm or batchnorm.
TEST(IsDecayed, LeavesOutBiasesAndNormalisations) {
  for (const char* name :
       {"encoder.latents", "input.position.weight", "input.token.weight", "query.queries",
        "encoder.self_attend_0.attention.q.weight", "decoder.output.weight", "normal.weight"}) {
    EXPECT_TRUE(is_decayed(name)) << name;
  }
  for (const char* name : {"bias", "encoder.self_attend_0.attention.q.bias", "input.norm.weight",
                           "encoder.cross_attend.norm_kv.weight", "norm_mlp.bias"}) {
    EXPECT_FALSE(is_decayed(name)) << name;
  }
}

TEST(ClipByGlobalNorm, ScalesAllGradientsTogetherAndOnlyAboveTheLimit) {
  const std::vector<Tensor> gradients = {values({3.0, 0.0}), values({4.0})};
  EXPECT_EQ(clip_by_global_norm(gradients, 10.0).item<double>(), 5.0);
  expect_close(gradients[0], {3.0, 0.0});
  EXPECT_EQ(clip_by_global_norm(gradients, 0.0).item<double>(), 5.0);
  expect_close(gradients[1], {4.0});
  EXPECT_EQ(clip_by_global_norm(gradients, 1.0).item<double>(), 5.0);
  expect_close(gradients[0], {0.6, 0.0});
  expect_close(gradients[1], {0.8});
}

// Ten steps of tensors of many sizes, from the same gradients: parameters after them.
template <typename Rule>
std::vector<Tensor> ten_steps(at::Device device, double clip) {
  at::manual_seed(8);
  std::vector<NamedParameter> parameters;
  for (const int64_t size : {1, 7, 4096, 100'003}) {
    parameters.push_back({size == 7 ? "a.bias" : "a.weight", at::randn({size}).to(device)});
  }
  parameters.push_back({"zero.weight", at::zeros({33}).to(device)});
  Rule optimizer(parameters, kOptions);
  for (int step = 0; step < 10; ++step) {
    for (NamedParameter& p : parameters) {
      p.value.mutable_grad() = at::randn({p.value.numel()}).to(device);
    }
    optimizer.step(0.01, at::full({}, 3.0, device), clip);
  }
  std::vector<Tensor> values;
  for (const NamedParameter& p : parameters) values.push_back(p.value.cpu());
  return values;
}

TEST(FusedOptimizer, GivesWhatThePlainOneGives) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  for (const double clip : {0.0, 1.0}) {
    const auto expect_same = [](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
      for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::allclose(a[i], b[i], 1e-4, 1e-6)) << i;
    };
    expect_same(ten_steps<Lamb>(at::kCUDA, clip), ten_steps<Lamb>(at::kCPU, clip));
    expect_same(ten_steps<AdamW>(at::kCUDA, clip), ten_steps<AdamW>(at::kCPU, clip));
  }
}

// Adam without decay: a rule that no kernel knows.
class Plain : public Optimizer {
 public:
  using Optimizer::Optimizer;

 private:
  void apply(std::vector<Tensor> updates, double learning_rate) override {
    at::_foreach_add_(values_, updates, -learning_rate);
  }
};

TEST(Optimizer, StepsOnAGpuByARuleOfItsOwn) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  const auto ours = ten_steps<Plain>(at::kCUDA, 1.0), expected = ten_steps<Plain>(at::kCPU, 1.0);
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(at::allclose(ours[i], expected[i], 1e-4, 1e-6)) << i;
  }
}

TEST(FusedOptimizer, WritesCopiesInBfloat16) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  const at::TensorOptions on_gpu = at::kCUDA;
  Tensor weight = at::randn({6, 5}, on_gpu).requires_grad_();
  weight.mutable_grad() = at::randn({6, 5}, on_gpu);
  const Tensor stack = at::zeros({8, 8}, on_gpu.dtype(at::kBFloat16));
  std::vector<WeightCopy> copies = {
      {weight.detach(), stack.narrow(0, 1, 6).narrow(1, 0, 5), false},
      {weight.detach(), at::zeros({6, 5}, on_gpu.dtype(at::kHalf)), true}};
  Lamb lamb({{"weight", weight}}, {});
  lamb.step(0.01, at::ones({}, on_gpu), /*clip=*/0.0, copies);
  EXPECT_TRUE(copies[0].current);
  EXPECT_FALSE(copies[1].current);
  const Tensor narrow = weight.detach().to(at::kBFloat16);
  EXPECT_TRUE(copies[0].copy.equal(narrow));
  EXPECT_EQ(stack.count_nonzero().item<int64_t>(), narrow.count_nonzero().item<int64_t>());
}

}  // namespace
}  // namespace perceiver
