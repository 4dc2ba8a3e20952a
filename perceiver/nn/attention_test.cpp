#include "perceiver/nn/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace perceiver {
namespace {

// Eq. 1-6 written out for one example and one query, with nothing but sums: no kernels, no heads
// folded into tensors.
std::vector<double> row(const Tensor& t) {
  const Tensor d = t.to(at::kDouble).contiguous();
  return {d.data_ptr<double>(), d.data_ptr<double>() + d.numel()};
}

std::vector<double> linear(const torch::OrderedDict<std::string, Tensor>& p,
                           const std::string& name, const std::vector<double>& x) {
  const Tensor weight = p[name + ".weight"];
  std::vector<double> y = row(p[name + ".bias"]);
  for (int64_t i = 0; i < weight.size(0); ++i) {
    const std::vector<double> w = row(weight[i]);
    for (size_t j = 0; j < x.size(); ++j) y[i] += w[j] * x[j];
  }
  return y;
}

std::vector<double> norm(const std::vector<double>& x) {  // scale 1, offset 0
  double mean = 0, var = 0;
  for (const double v : x) mean += v / x.size();
  for (const double v : x) var += (v - mean) * (v - mean) / x.size();
  std::vector<double> y;
  for (const double v : x) y.push_back((v - mean) / std::sqrt(var + 1e-5));
  return y;
}

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(CrossAttend, IsThePapersEquations) {
  at::manual_seed(3);
  at::NoGradGuard no_grad;
  const int64_t heads = 2, keys = 5;
  CrossAttend attend(
      6, 10,
      AttendConfig{.num_heads = heads, .qk_channels = 4, .v_channels = 8, .widening_factor = 3});
  const auto p = attend->named_parameters();
  const Tensor x_q = at::randn({1, 1, 6}), x_kv = at::randn({1, keys, 10});

  const std::vector<double> x = row(x_q), q = linear(p, "attention.q", norm(x));
  std::vector<std::vector<double>> k, v;
  for (int64_t m = 0; m < keys; ++m) {
    k.push_back(linear(p, "attention.k", norm(row(x_kv[0][m]))));
    v.push_back(linear(p, "attention.v", norm(row(x_kv[0][m]))));
  }
  std::vector<double> heads_out(8, 0.0);
  for (int64_t h = 0; h < heads; ++h) {  // channels of a head lie side by side
    std::vector<double> weight(keys);
    double sum = 0;
    for (int64_t m = 0; m < keys; ++m) {
      double score = 0;
      for (int64_t i = 0; i < 2; ++i) score += q[2 * h + i] * k[m][2 * h + i] / std::sqrt(2.0);
      sum += weight[m] = std::exp(score);
    }
    for (int64_t m = 0; m < keys; ++m) {
      for (int64_t i = 0; i < 4; ++i) heads_out[4 * h + i] += weight[m] / sum * v[m][4 * h + i];
    }
  }
  std::vector<double> y = linear(p, "attention.o", heads_out);
  for (size_t i = 0; i < y.size(); ++i) y[i] += x[i];
  std::vector<double> hidden = linear(p, "mlp.widen", norm(y));
  EXPECT_EQ(hidden.size(), 18);
  for (double& value : hidden) value = gelu_tanh(value);
  const std::vector<double> added = linear(p, "mlp.narrow", hidden);

  const std::vector<double> got = row(attend(x_q, x_kv));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(got[i], y[i] + added[i], 1e-5);
}

TEST(CrossAttend, ChannelsFollowTheArrayThatShapeForAttnNames) {
  const CrossAttend kv(6, 10, AttendConfig{});
  const CrossAttend q(6, 10, AttendConfig{.shape_for_attn = ShapeForAttn::kQ});
  EXPECT_EQ(kv->attention_case(1, 1).qk_channels, 10);
  EXPECT_EQ(kv->attention_case(1, 1).v_channels, 10);
  EXPECT_EQ(q->attention_case(1, 1).qk_channels, 6);
}

TEST(CrossAttend, QueryResidualAddsTheQueryAsItCame) {
  at::manual_seed(3);
  at::NoGradGuard no_grad;
  CrossAttend on(6, 10, AttendConfig{});
  CrossAttend off(6, 10, AttendConfig{.query_residual = false});
  for (const auto& p : on->named_parameters()) off->named_parameters()[p.key()].copy_(p.value());
  on->named_parameters()["mlp.narrow.weight"].zero_();  // leaves Eq. 4 and 5
  off->named_parameters()["mlp.narrow.weight"].zero_();
  const Tensor x_q = at::randn({2, 3, 6}), x_kv = at::randn({2, 5, 10});
  EXPECT_TRUE(at::allclose(on(x_q, x_kv), off(x_q, x_kv) + x_q, 1e-5, 1e-6));
}

TEST(QkvAttention, MaskedQueryKeepsOnlyTheOutputsBias) {  // as DeepMind's; Hugging Face ignores it
  at::manual_seed(3);
  at::NoGradGuard no_grad;
  QkvAttention attention(6, 10, AttendConfig{});
  Tensor bias = attention->named_parameters()["o.bias"];
  bias.copy_(at::arange(6));
  const Tensor x_q = at::randn({1, 2, 6}), x_kv = at::randn({1, 5, 10});
  const Tensor mask = at::tensor({1, 0}).view({1, 2}).to(at::kBool);
  const Tensor masked = attention(x_q, x_kv, AttendMasks{.q = mask});
  const Tensor whole = attention(x_q, x_kv);
  EXPECT_TRUE(masked[0][1].equal(bias));
  EXPECT_TRUE(masked[0][0].equal(whole[0][0]));

  QkvAttention ignores(6, 10, AttendConfig{}, kHuggingFace);
  for (const auto& p : attention->named_parameters()) {
    ignores->named_parameters()[p.key()].copy_(p.value());
  }
  EXPECT_TRUE(ignores(x_q, x_kv, AttendMasks{.q = mask}).equal(whole));
}

TEST(QkvAttention, NoKeyGivesZerosOrTheMeanOfAllValues) {
  at::manual_seed(3);
  at::NoGradGuard no_grad;
  const Tensor x_q = at::randn({1, 2, 6}), x_kv = at::randn({1, 5, 10});
  const Tensor nothing = at::zeros({1, 5}, at::kBool);
  QkvAttention zeros(6, 10, AttendConfig{}), mean(6, 10, AttendConfig{}, kHuggingFace);
  EXPECT_TRUE(zeros(x_q, x_kv, AttendMasks{.kv = nothing}).eq(0).all().item<bool>());
  const auto p = mean->named_parameters();
  const Tensor values = at::linear(x_kv, p["v.weight"], p["v.bias"]).mean(1, true);
  const Tensor expected = at::linear(values, p["o.weight"], p["o.bias"]).expand({1, 2, 6});
  EXPECT_TRUE(at::allclose(mean(x_q, x_kv, AttendMasks{.kv = nothing}), expected, 1e-5, 1e-6));
}

TEST(SelfAttend, DropoutActsInTrainingAlone) {
  at::manual_seed(3);
  at::NoGradGuard no_grad;
  SelfAttend attend(8, AttendConfig{.num_heads = 2, .dropout = 0.5, .attention_dropout = 0.5});
  const Tensor x = at::randn({1, 4, 8});
  EXPECT_FALSE(attend(x).equal(attend(x)));
  attend->eval();
  EXPECT_TRUE(attend(x).equal(attend(x)));
}

TEST(Gelu, TanhAndErfAreTheTwoReferences) {
  const Tensor x = at::tensor({1.0, -2.0});
  EXPECT_NEAR(gelu(x, Gelu::kTanh)[0].item<double>(), gelu_tanh(1.0), 1e-12);
  EXPECT_NEAR(gelu(x, Gelu::kErf)[1].item<double>(), -2.0 * 0.5 * std::erfc(2 / std::sqrt(2.0)),
              1e-12);
}

}  // namespace
}  // namespace perceiver
