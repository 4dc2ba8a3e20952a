#include "perceiver/kernels/cpu/stream.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

struct Shape {
  const char* name;
  int64_t batch, heads, queries, keys, qk_channels, v_channels;
};
// Around the tiles, blocks and chunks; few queries with many keys and the reverse.
const Shape kShapes[] = {
    {"flow_encode", 1, 1, 70, 3001, 322, 322}, {"flow_decode", 1, 1, 4100, 130, 322, 322},
    {"language", 2, 8, 33, 300, 32, 160},      {"one_query", 3, 1, 1, 700, 1024, 1024},
    {"odd_channels", 1, 2, 65, 241, 17, 5},    {"one_key", 2, 2, 9, 1, 16, 8},
    {"no_whole_vector", 1, 1, 3, 7, 3, 3},
};

class StreamTest : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    at::manual_seed(2);
    const Shape& s = GetParam();
    in.q = at::randn({s.batch, s.heads, s.queries, s.qk_channels});
    in.k = at::randn({s.batch, s.heads, s.keys, s.qk_channels});
    in.v = at::randn({s.batch, s.heads, s.keys, s.v_channels});
    in.scale = 1.0 / std::sqrt(static_cast<double>(s.qk_channels));
  }

  // By the definition, in the dtype given.
  static Tensor plain(const StreamInputs& in, at::ScalarType dtype, Tensor* log_sum = nullptr) {
    const auto array = [&](const Tensor& x, bool normalise) {
      const Tensor wide = x.to(dtype);
      return normalise ? at::layer_norm(wide, {x.size(-1)}) : wide;
    };
    const Tensor k = array(in.k, in.normalise_k);
    Tensor scores = at::matmul(array(in.q, in.normalise_q), k.transpose(2, 3));
    if (in.key_bias.defined()) scores = scores + in.key_bias.unsqueeze(2).to(dtype);
    scores = scores * in.scale;
    if (in.kv_mask.defined()) {
      scores =
          scores.masked_fill(in.kv_mask.view({in.q.size(0), 1, 1, -1}).logical_not(), -INFINITY);
    }
    if (log_sum) *log_sum = scores.logsumexp(-1);
    return at::matmul(scores.softmax(-1), in.v.defined() ? array(in.v, false) : k);
  }

  static double apart(const Tensor& a, const Tensor& b) {
    return (a.to(at::kDouble) - b).abs().max().item<double>();
  }

  void expect_exact() const {
    const Tensor exact = plain(in, at::kDouble);
    EXPECT_LE(apart(attend_stream(in), exact), 2 * apart(plain(in, at::kFloat), exact) + 1e-6);
  }

  StreamInputs in;
};

TEST_P(StreamTest, IsAsExactAsTheDefinition) { expect_exact(); }

TEST_P(StreamTest, TakesMaskAndBiasOfKeys) {
  const Shape& s = GetParam();
  in.kv_mask = at::rand({s.batch, s.keys}) < 0.7;
  in.kv_mask.select(1, 0).fill_(true);
  in.key_bias = at::randn({s.batch, s.heads, s.keys});
  expect_exact();
}

TEST_P(StreamTest, KeysMayBeTheValuesAndNormalisedOnTheWay) {
  in.v = Tensor();
  in.normalise_k = in.normalise_q = true;
  expect_exact();
}

TEST_P(StreamTest, LogSumIsTheDefinitions) {
  Tensor exact, ours;
  plain(in, at::kDouble, &exact);
  attend_stream(in, &ours);
  EXPECT_LE(apart(ours, exact), 1e-5);
}

TEST_P(StreamTest, Bfloat16IsWithinItsRounding) {
  if (!stream_takes(at::kBFloat16)) GTEST_SKIP() << "needs a CPU with bfloat16";
  for (Tensor* x : {&in.q, &in.k, &in.v}) *x = x->to(at::kBFloat16);
  const Tensor exact = plain(in, at::kDouble);
  // Weights and outputs are rounded to 8 bits.
  EXPECT_LE(apart(attend_stream(in), exact), exact.abs().max().item<double>() / 128);
}

INSTANTIATE_TEST_SUITE_P(Shapes, StreamTest, testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace perceiver
