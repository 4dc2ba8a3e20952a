#include "perceiver/nn/embed.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"

namespace perceiver {
namespace {

struct Case {
  const char* name;
  int64_t batch, length, count, channels;
  bool placed = true;
  bool alike = false;  // most ids are the same
};
const Case kCases[] = {
    {"bytes", 32, 300, 262, 768},          {"padded_bytes", 8, 300, 262, 768, true, true},
    {"queries", 32, 77, 2048, 768, false}, {"padded_queries", 32, 77, 2048, 768, false, true},
    {"odd_channels", 3, 21, 5, 19},        {"one_example", 1, 70, 1000, 100},
    {"one_element", 5, 1, 300, 64},        {"too_many_for_the_kernel", 3, 21, 5000, 40},
};

class EmbedTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    at::manual_seed(17);
    const Case& c = GetParam();
    table = at::randn({c.count, c.channels});
    if (c.placed) places = at::randn({c.length, c.channels});
    ids = at::randint(c.count, {c.batch, c.length}, at::kLong);
    if (c.alike) ids.masked_fill_(at::rand({c.batch, c.length}) < 0.8, 0);
    wanted = at::randn({c.batch, c.length, c.channels});
  }

  // The elements, and the gradients of both tables.
  template <typename Function>
  std::vector<Tensor> pass(at::Device device, at::ScalarType dtype, Function f) const {
    const Tensor t = table.to(device, dtype).detach().requires_grad_();
    const Tensor p = places.defined() ? places.to(device, dtype).detach().requires_grad_() : places;
    const Tensor out = f(t, ids.to(device), p);
    (out * wanted.to(device, dtype)).sum().backward();
    std::vector<Tensor> all = {out.detach(), t.grad()};
    if (p.defined()) all.push_back(p.grad());
    return all;
  }

  Tensor table, places, ids, wanted;
};

Tensor plain(const Tensor& table, const Tensor& ids, const Tensor& places) {
  const Tensor elements = at::embedding(table, ids);
  return places.defined() ? elements + places : elements;
}

TEST_P(EmbedTest, IsAsExactAsLibTorchs) {
  const at::Device device = at::hasCUDA() ? at::kCUDA : at::kCPU;
  const auto exact = pass(at::kCPU, at::kDouble, plain);
  const auto theirs = pass(device, at::kFloat, plain);
  const auto ours = pass(device, at::kFloat, embedded);
  EXPECT_TRUE(ours[0].equal(theirs[0]));
  for (size_t i = 1; i < exact.size(); ++i) {
    const double rounding = 1e-7 * exact[i].norm().item<double>();
    EXPECT_LE(norm_of_difference(ours[i], exact[i]),
              2 * norm_of_difference(theirs[i], exact[i]) + rounding)
        << i;
  }
}

TEST_P(EmbedTest, GradientsHaveTheSameBitsEachTime) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  if (GetParam().count > 2048) GTEST_SKIP() << "LibTorch's";
  const auto once = pass(at::kCUDA, at::kFloat, embedded);
  const auto again = pass(at::kCUDA, at::kFloat, embedded);
  for (size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(once[i].equal(again[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(All, EmbedTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Embed, TakesIdsOfOneDimension) {
  const at::Device device = at::hasCUDA() ? at::kCUDA : at::kCPU;
  const Tensor table = at::randn({9, 6}, at::TensorOptions(device)).requires_grad_();
  const Tensor ids = at::tensor({3, 3, 8}, at::TensorOptions(device).dtype(at::kLong));
  const Tensor out = embedded(table, ids);
  EXPECT_TRUE(out.equal(table.index_select(0, ids)));
  out.sum().backward();
  EXPECT_EQ(table.grad()[3][0].item<float>(), 2.0f);
  EXPECT_EQ(table.grad()[0][0].item<float>(), 0.0f);
}

}  // namespace
}  // namespace perceiver
