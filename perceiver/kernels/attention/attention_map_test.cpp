#include "perceiver/kernels/attention/attention_map.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "perceiver/core/error_test.h"
#include "perceiver/kernels/attention/attention_kernels.h"

namespace perceiver {
namespace {

AttentionInputs random_inputs(int64_t heads, int64_t queries, int64_t keys) {
  at::manual_seed(3);
  return {.q = at::randn({2, heads, queries, 4}) * 3,
          .k = at::randn({2, heads, keys, 4}),
          .v = at::eye(keys).expand({2, heads, keys, keys})};
}

// With the identity as values, attention's output is its map.
Tensor whole_map(const AttentionInputs& in) { return attend_reference(in); }  // [B, H, N, M]

TEST(AttentionMap, OneLatentIsItsRowAndAGroupTheMeanOfItsRows) {
  const AttentionInputs in = random_inputs(3, 5, 11);
  Tensor weights = at::zeros({2, 5});
  weights[0][3] = 1.0;
  weights[1][0] = weights[1][4] = 0.5;
  const Tensor map = whole_map(in)[1].mean(0);
  const Tensor mixed = mix_attention(in, weights, {.row = 1});
  EXPECT_TRUE(at::allclose(mixed[0], map[3], 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(mixed[1], (map[0] + map[4]) / 2, 1e-5, 1e-6));
}

TEST(AttentionMap, AHeadIsTakenAloneAndOneThatIsNotThereIsRefused) {
  const AttentionInputs in = random_inputs(3, 5, 11);
  const Tensor mixed = mix_attention(in, at::eye(5), {.head = 2});
  EXPECT_TRUE(at::allclose(mixed, whole_map(in)[0][2], 1e-5, 1e-6));
  EXPECT_EQ(error_of([&] { mix_attention(in, at::eye(5), {.head = 3}); }),
            "head 3 is not among the 3 of this attention");
}

TEST(AttentionMap, MaskedKeysGetNothingAndAQueryWithoutKeysSeesNothing) {
  AttentionInputs in = random_inputs(1, 3, 7);
  in.kv_mask = at::ones({2, 7}, at::kBool);
  in.kv_mask[0][2] = false;
  in.kv_mask[1].fill_(false);
  const Tensor map = mix_attention(in, at::eye(3));
  EXPECT_TRUE(map.select(1, 2).eq(0).all().item<bool>());
  EXPECT_TRUE(at::allclose(map.sum(1), at::ones({3})));
  EXPECT_TRUE(mix_attention(in, at::eye(3), {.row = 1}).eq(0).all().item<bool>());
}

// 64 x 400,000 scores are more than are held at once.
TEST(AttentionMap, BlocksOfQueriesGiveWhatAllAtOnceGive) {
  at::manual_seed(5);
  AttentionInputs in{.q = at::randn({1, 1, 64, 2}), .k = at::randn({1, 1, 400'000, 2}), .v = {}};
  const Tensor weights = at::rand({2, 64});
  const Tensor scores = at::matmul(in.q, in.k.transpose(-2, -1)).div_(std::sqrt(2.0));
  const Tensor expected = at::matmul(weights, scores.softmax(-1)[0][0]);
  EXPECT_LT((mix_attention(in, weights) - expected).abs().max().item<double>(), 1e-7);
}

TEST(AttentionMap, LatentsThatLookAtLikePlacesFormAGroupTheLargestFirst) {
  // Ten keys in a row; three latents look at key 1, two at key 8.
  AttentionInputs in{.q = at::zeros({1, 1, 5, 10}), .k = at::eye(10).view({1, 1, 10, 10}), .v = {}};
  for (const int64_t latent : {0, 3, 4}) in.q[0][0][latent][1] = 40.0;
  for (const int64_t latent : {1, 2}) in.q[0][0][latent][8] = 40.0;
  const Clusters clusters = cluster_attention(in, {.groups = 2, .grid = {10}});
  EXPECT_TRUE(clusters.group.equal(at::tensor({0, 1, 1, 0, 0}, at::kLong)));
  const Tensor maps = mix_attention(in, clusters.weights);
  EXPECT_EQ(maps[0].argmax().item<int64_t>(), 1);
  EXPECT_EQ(maps[1].argmax().item<int64_t>(), 8);
  EXPECT_TRUE(at::allclose(clusters.weights.sum(1), at::ones({2})));
}

TEST(AttentionMap, FewerDifferentRowsThanGroupsGiveFewerGroups) {
  AttentionInputs in{.q = at::zeros({1, 1, 4, 2}), .k = at::randn({1, 1, 6, 2}), .v = {}};
  EXPECT_EQ(cluster_attention(in, {.groups = 3, .grid = {2, 3}}).weights.size(0), 1);
}

}  // namespace
}  // namespace perceiver
