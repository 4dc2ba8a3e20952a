#include "perceiver/kernels/attention/stream.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"
#include "perceiver/kernels/cpu/threads_test.h"

namespace perceiver {
namespace {

constexpr int kThreads[] = {1, 3, 16};

struct Shape {
  const char* name;
  int64_t batch, heads, queries, keys, qk_channels, v_channels;
};
// Around the tiles, blocks and chunks; few queries with many keys and the reverse.
const Shape kShapes[] = {
    {"flow_encode", 1, 1, 70, 3001, 322, 322}, {"flow_decode", 1, 1, 4100, 130, 322, 322},
    {"language", 2, 8, 33, 300, 32, 160},      {"one_query", 3, 1, 1, 700, 1024, 1024},
    {"odd_channels", 1, 2, 65, 241, 17, 5},    {"one_key", 2, 2, 9, 1, 16, 8},
    {"no_whole_vector", 1, 1, 3, 7, 3, 3},     {"few_heads", 1, 3, 100, 2100, 32, 40},
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

  void expect_exact() const {
    const Tensor exact = plain(in, at::kDouble);
    EXPECT_LE(largest_difference(attend_stream(in), exact),
              2 * largest_difference(plain(in, at::kFloat), exact) + 1e-6);
  }

  StreamInputs in;
};

TEST_P(StreamTest, IsAsExactAsTheDefinition) { expect_exact(); }

TEST_P(StreamTest, IsAsExactHoweverManyThreadsThereAre) {
  for (const int threads : kThreads) {
    const ThreadsScope scope(threads);
    SCOPED_TRACE(threads);
    expect_exact();
  }
}

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
  EXPECT_LE(largest_difference(ours, exact), 1e-5);
}

TEST_P(StreamTest, Bfloat16IsWithinItsRounding) {
  if (!stream_takes(at::kBFloat16)) GTEST_SKIP() << "needs a CPU with bfloat16";
  for (Tensor* x : {&in.q, &in.k, &in.v}) *x = x->to(at::kBFloat16);
  const Tensor exact = plain(in, at::kDouble);
  // Weights and outputs are rounded to 8 bits.
  EXPECT_LE(largest_difference(attend_stream(in), exact), exact.abs().max().item<double>() / 128);
}

// One array on a grid, the other by itself. Lines are of all lengths against a vector and a block.
struct GridShape {
  const char* name;
  int64_t batch, lines, width, first, elements, others, content, places;
};
const GridShape kGridShapes[] = {
    {"flow", 1, 6, 496, 0, 6 * 496, 70, 64, 258},
    {"pixels", 2, 9, 224, 0, 9 * 224, 33, 3, 20},
    {"short_lines", 2, 40, 13, 0, 40 * 13, 9, 16, 11},
    {"a_part", 1, 40, 56, 131, 1700, 21, 64, 30},
    {"one_line", 1, 1, 800, 7, 700, 17, 5, 8},
    {"lines_of_one", 1, 300, 1, 0, 300, 8, 17, 4},
    {"no_content", 1, 12, 50, 3, 500, 40, 0, 24},
    {"few", 1, 2, 3, 1, 4, 3, 2, 3},
};

class GridStreamTest : public testing::TestWithParam<GridShape> {
 protected:
  void SetUp() override {
    at::manual_seed(4);
    const GridShape& s = GetParam();
    // A mean well away from zero, which the norm takes out.
    const Tensor lines = at::randn({s.lines, s.places}) + 2.0,
                 along = at::randn({s.width, s.places});
    content = at::randn({s.batch, s.elements, s.content}) * 2 + 1.5;
    places = grid_places(lines, along);
    other = at::randn({s.batch, s.others, s.content + s.places});
    scale = 1.0 / std::sqrt(static_cast<double>(s.content + s.places));
  }

  Tensor content_of_other() const { return other.narrow(2, 0, GetParam().content).unsqueeze(1); }
  Tensor places_of_other() const { return other.narrow(2, GetParam().content, GetParam().places); }

  // The elements of the grid.
  Tensor stored(const Tensor& given) const {
    const Tensor positions = positions_of(places, GetParam().first, given.size(1));
    return at::cat({given, positions.expand({given.size(0), -1, -1})}, -1);
  }

  // By the definition, in the dtype given: over the elements as they are.
  Tensor keys_plain(at::ScalarType dtype) const {
    const Tensor k = at::layer_norm(stored(content).to(dtype), {other.size(2)});
    return at::matmul((at::matmul(other.to(dtype), k.transpose(1, 2)) * scale).softmax(-1), k);
  }
  Tensor queries_plain(at::ScalarType dtype, const Tensor& v, const Tensor& bias) const {
    const Tensor q = at::layer_norm(stored(content).to(dtype), {other.size(2)});
    const Tensor scores = at::matmul(q, other.to(dtype).transpose(1, 2)) + bias.to(dtype);
    return at::matmul((scores * scale).softmax(-1), v.to(dtype));
  }

  GridPlaces places;
  Tensor content, other;
  double scale = 1.0;
};

TEST_P(GridStreamTest, KeysAreAsExactAsTheirElementsHoweverManyThreadsThereAre) {
  const Tensor exact = keys_plain(at::kDouble);
  for (const int threads : kThreads) {
    const ThreadsScope scope(threads);
    const Tensor got =
        attend_stream({.q = content_of_other(),
                       .k = content.unsqueeze(1),
                       .scale = scale,
                       .key_places = scores_of_keys(places, GetParam().first, places_of_other())});
    EXPECT_LE(largest_difference(got.squeeze(1), exact),
              2 * largest_difference(keys_plain(at::kFloat), exact) + 2e-6)
        << threads << " threads";
  }
}

TEST_P(GridStreamTest, QueriesAreAsExactAsTheirElements) {
  const GridShape& s = GetParam();
  const Tensor v = at::randn({s.batch, s.others, 37}), bias = at::randn({s.batch, 1, s.others});
  const Tensor got = attend_stream(
      {.q = content.unsqueeze(1),
       .k = content_of_other(),
       .v = v.unsqueeze(1),
       .key_bias = bias,
       .scale = scale,
       .query_places = scores_of_queries(places, GetParam().first, places_of_other())});
  const Tensor exact = queries_plain(at::kDouble, v, bias);
  EXPECT_LE(largest_difference(got.squeeze(1), exact),
            2 * largest_difference(queries_plain(at::kFloat, v, bias), exact) + 2e-6);
}

TEST_P(GridStreamTest, Bfloat16IsWithinItsRounding) {
  if (!stream_takes(at::kBFloat16)) GTEST_SKIP() << "needs a CPU with bfloat16";
  for (Tensor* x : {&content, &other}) *x = x->to(at::kBFloat16);
  // The array's own rounding is not ours: positions are float32 here.
  const Tensor k = at::layer_norm(stored(content.to(at::kFloat)).to(at::kDouble), {other.size(2)});
  const Tensor q = other.to(at::kDouble);
  const Tensor exact = at::matmul((at::matmul(q, k.transpose(1, 2)) * scale).softmax(-1), k);
  const Tensor got =
      attend_stream({.q = content_of_other(),
                     .k = content.unsqueeze(1),
                     .scale = scale,
                     .key_places = scores_of_keys(places, GetParam().first, places_of_other())});
  EXPECT_LE(largest_difference(got.squeeze(1), exact), exact.abs().max().item<double>() / 64);
}

TEST_P(GridStreamTest, QueriesThatAreTheSameForAllExamplesGiveThemTheSameTables) {
  const Tensor one = places_of_other().narrow(0, 0, 1).expand({3, -1, -1});
  const GridScores repeated = scores_of_keys(places, GetParam().first, one);
  const GridScores apart_made = scores_of_keys(places, GetParam().first, one.contiguous());
  EXPECT_TRUE(at::allclose(repeated.along, apart_made.along, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(repeated.lines, apart_made.lines, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(repeated.sums, apart_made.sums, 1e-5, 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Shapes, GridStreamTest, testing::ValuesIn(kGridShapes),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Shapes, StreamTest, testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace perceiver
