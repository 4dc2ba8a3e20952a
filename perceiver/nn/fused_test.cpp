#include "perceiver/nn/fused.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/core/apart_test.h"
#include "perceiver/core/autocast.h"
#include "perceiver/nn/attention.h"
#include "perceiver/nn/fused_layer.h"
#include "perceiver/nn/packed.h"

namespace perceiver {
namespace {

struct Case {
  const char* name;
  int64_t queries, keys, q_channels, kv_channels;
  AttendConfig config;
  bool masked = false;
  bool repeated = false;  // the same queries for every example
};
const Case kCases[] = {
    {"heads",
     12,
     50,
     40,
     24,
     {.num_heads = 4, .qk_channels = 16, .v_channels = 40, .widening_factor = 2}},
    {"odd_channels", 9, 21, 19, 35, {.num_heads = 1}},
    {"even_channels", 9, 21, 42, 26, {.num_heads = 1}},
    {"no_residual", 30, 7, 24, 40, {.num_heads = 2, .query_residual = false}},
    {"no_residual_odd_channels", 30, 7, 21, 40, {.num_heads = 2, .query_residual = false}},
    {"masked", 12, 50, 40, 24, {.num_heads = 2}, true},
    {"repeated_queries", 12, 50, 40, 24, {.num_heads = 2}, false, true},
    // On a GPU, heads of 16 and 32 and of 64 channels are those of a kernel of our own.
    {"resident_heads", 30, 50, 64, 40, {.num_heads = 2, .qk_channels = 32, .v_channels = 64}, true},
};

// A cross-attend and two self-attends of its result, and every gradient.
class FusedTest : public testing::TestWithParam<std::tuple<Case, Gelu>> {
 protected:
  void draw(int64_t seed) {
    at::manual_seed(seed);
    const auto& [c, gelu] = GetParam();
    cross = CrossAttend(c.q_channels, c.kv_channels, c.config, Semantics{.gelu = gelu});
    for (SelfAttend& self : selfs) {
      self = SelfAttend(c.q_channels, AttendConfig{.num_heads = 1}, Semantics{.gelu = gelu});
    }
    at::NoGradGuard no_grad;
    for (const auto& p : parameters()) {
      if (p.dim() == 1) p.add_(at::randn_like(p), 0.5);
    }
    x_q = at::randn({c.repeated ? 1 : 3, c.queries, c.q_channels}) * 2 + 0.3;
    x_kv = at::randn({3, c.keys, c.kv_channels}) * 2 - 0.3;
    wanted = at::randn({3, c.queries, c.q_channels});
    if (!c.masked) return;
    masks.q = at::rand({3, c.queries}) < 0.7;
    masks.kv = at::rand({3, c.keys}) < 0.7;
    masks.kv[1].fill_(false);
  }

  std::vector<Tensor> parameters() {
    std::vector<Tensor> all = cross->parameters();
    for (const SelfAttend& self : selfs) {
      for (const Tensor& p : self->parameters()) all.push_back(p);
    }
    return all;
  }

  void move(at::Device device, at::ScalarType dtype) {
    cross->to(device, dtype);
    for (SelfAttend& self : selfs) self->to(device, dtype);
    for (Tensor* x : {&x_q, &x_kv, &wanted}) *x = x->detach().to(device, dtype);
    for (Tensor* mask : {&masks.q, &masks.kv}) {
      if (mask->defined()) *mask = mask->to(device);
    }
  }

  // The output, and the gradients of both arrays and of all parameters.
  std::vector<Tensor> pass() {
    x_q = x_q.detach().requires_grad_(), x_kv = x_kv.detach().requires_grad_();
    Tensor out;
    {
      const AutocastScope autocast(x_q.device().type(),
                                   x_q.scalar_type() == at::kFloat ? at::kBFloat16 : at::kFloat);
      out = attended_in_turn(selfs, cross(x_q.expand({3, -1, -1}), x_kv, masks));
    }
    for (Tensor& p : parameters()) p.mutable_grad() = at::zeros_like(p);
    (out * wanted).sum().backward();
    std::vector<Tensor> all = {out.detach(), x_q.grad(), x_kv.grad()};
    for (const Tensor& p : parameters()) all.push_back(p.grad().clone());
    return all;
  }

  CrossAttend cross{nullptr};
  std::vector<SelfAttend> selfs{nullptr, nullptr};
  Tensor x_q, x_kv, wanted;
  AttendMasks masks;
};

TEST_P(FusedTest, HandWrittenGradientsAreAutogradsInFloat64) {
  draw(7);
  move(at::kCPU, at::kDouble);
  const std::vector<Tensor> plain = pass();
  const FusedAttendScope scope;
  const std::vector<Tensor> fused = pass();
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_LE(norm_of_difference(plain[i], fused[i]),
              1e-11 * (1.0 + plain[i].norm().item<double>()))
        << "of tensor " << i;
  }
}

// Over many draws: the gradients of keys and queries can be nearly all rounding, in both forms.
TEST_P(FusedTest, IsAsExactInBFloat16AsTheModules) {
  const at::Device device = at::hasCUDA() ? at::kCUDA : at::kCPU;
  std::optional<FusedAttendScope> without_kernels;
  if (device.is_cpu()) without_kernels.emplace();
  std::vector<double> of_plain, of_fused;  // squares of the distances from the truth
  for (int64_t seed = 0; seed < 16; ++seed) {
    draw(seed);
    move(at::kCPU, at::kDouble);
    const std::vector<Tensor> exact = pass();
    move(device, at::kFloat);
    const std::vector<Tensor> fused = pass();
    const PlainAttendScope scope;
    const std::vector<Tensor> plain = pass();
    of_plain.resize(exact.size()), of_fused.resize(exact.size());
    for (size_t i = 0; i < exact.size(); ++i) {
      of_plain[i] += std::pow(norm_of_difference(plain[i], exact[i]), 2);
      of_fused[i] += std::pow(norm_of_difference(fused[i], exact[i]), 2);
    }
  }
  for (size_t i = 0; i < of_plain.size(); ++i) {
    EXPECT_LE(std::sqrt(of_fused[i]), 2 * std::sqrt(of_plain[i])) << "of tensor " << i;
  }
  EXPECT_NE(of_plain, of_fused) << "the training form was not used";
}

INSTANTIATE_TEST_SUITE_P(All, FusedTest,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(Gelu::kTanh, Gelu::kErf)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) == Gelu::kTanh ? "_tanh" : "_erf");
                         });

// The gradient of cat() is one array for all that was put together.
TEST(ProjectNormed, TakesGradientsThatLieSideBySide) {
  at::manual_seed(3);
  LayerNorm norm(5);
  std::vector<Linear> layers = {Linear(5, 4, LinearInit::kAttend),
                                Linear(5, 2, LinearInit::kAttend),
                                Linear(5, 6, LinearInit::kAttend)};
  std::vector<Tensor> wanted = norm->parameters();
  for (const Linear& layer : layers) {
    for (const Tensor& p : layer->parameters()) wanted.push_back(p);
  }
  const Tensor x = at::randn({2, 3, 5}, at::kDouble).requires_grad_();
  wanted.push_back(x);
  norm->to(at::kDouble);
  for (Linear& layer : layers) layer->to(at::kDouble);
  const Tensor direction = at::randn({2, 3, 12}, at::kDouble);
  const auto gradients = [&](const std::vector<Tensor>& outputs) {
    for (Tensor& p : wanted) p.mutable_grad() = Tensor();
    at::cat(outputs, 2).backward(direction);
    std::vector<Tensor> made;
    for (const Tensor& p : wanted) made.push_back(p.grad().clone());
    return made;
  };
  const auto fused = gradients(project_normed({x}, norm, layers, at::kDouble).outputs);
  const Tensor normed = norm(x);
  const auto plain = gradients({layers[0](normed), layers[1](normed), layers[2](normed)});
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(at::allclose(fused[i], plain[i], 1e-9, 1e-11)) << i;
  }
}

// The output, and the gradients of x, weight and bias.
std::vector<Tensor> layer_pass(const std::vector<Tensor>& arrays, at::Device device,
                               at::ScalarType dtype) {
  std::vector<Tensor> given;
  for (const Tensor& a : arrays) given.push_back(a.to(device, dtype).detach().requires_grad_());
  Tensor out;
  {
    const AutocastScope autocast(device.type(), dtype == at::kFloat ? at::kBFloat16 : at::kFloat);
    out = linear_layer(given[0], given[1], given[2]);
  }
  (out * given[3].detach()).sum().backward();
  return {out.detach(), given[0].grad(), given[1].grad(), given[2].grad()};
}

TEST(LinearLayer, IsAsExactAsLibTorchs) {
  at::manual_seed(9);
  const at::Device device = at::hasCUDA() ? at::kCUDA : at::kCPU;
  for (const int64_t channels : {1, 8, 262}) {
    const std::vector<Tensor> arrays = {at::randn({3, 70, 64}), at::randn({channels, 64}),
                                        at::randn({channels}), at::randn({3, 70, channels})};
    const auto exact = layer_pass(arrays, at::kCPU, at::kDouble);
    std::optional<PlainAttendScope> modules(std::in_place);
    const auto plain = layer_pass(arrays, device, at::kFloat);
    modules.reset();
    const FusedAttendScope scope;
    const auto of_double = layer_pass(arrays, at::kCPU, at::kDouble);
    const auto fused = layer_pass(arrays, device, at::kFloat);
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_TRUE(at::allclose(of_double[i], exact[i], 1e-9, 1e-11)) << channels << ", " << i;
      EXPECT_EQ(fused[i].sizes(), exact[i].sizes());
      EXPECT_LE(norm_of_difference(fused[i], exact[i]), 2 * norm_of_difference(plain[i], exact[i]))
          << channels << ", " << i;
    }
  }
}

TEST(FusedDtypeTest, IsUsedOnlyWhereAGradientIsWanted) {
  const Tensor x = at::ones({1, 2, 3});
  EXPECT_EQ(fused_dtype(x), std::nullopt);  // nobody has kernels for it
  const FusedAttendScope scope;
  EXPECT_EQ(fused_dtype(x), at::kFloat);
  const at::NoGradGuard no_grad;
  EXPECT_EQ(fused_dtype(x), std::nullopt);
}

}  // namespace
}  // namespace perceiver
