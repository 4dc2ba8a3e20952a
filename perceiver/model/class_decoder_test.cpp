#include "perceiver/model/class_decoder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

constexpr ArraySize kLatents = {.index = 6, .channels = 16};

struct Classifier : torch::nn::Module {
  explicit Classifier(DecodeBy by)
      : decode(*this, {.by = by,
                       .latent_channels = kLatents.channels,
                       .query_channels = 12,
                       .num_classes = 5}) {}

  ModelSummary summary() const {
    ModelSummary s{.inputs = {}, .latents = kLatents, .queries = {}, .outputs = {1, 5}};
    decode.add_to(s);
    return s;
  }

  ClassDecoder decode;
};

TEST(ClassDecoder, ALearnedQueryAsksADecoderForTheLogits) {
  at::NoGradGuard no_grad;
  Classifier model(DecodeBy::kQuery);
  const Tensor latents = at::randn({2, kLatents.index, kLatents.channels});
  const auto modules = model.named_children();
  const auto query = std::dynamic_pointer_cast<LearnedQueryImpl>(modules["query"]);
  const auto decoder = std::dynamic_pointer_cast<DecoderImpl>(modules["decoder"]);
  const Tensor logits = model.decode(latents);
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{2, 5}));
  EXPECT_TRUE(logits.equal(decoder->forward(latents, query->forward(2)).squeeze(1)));
  EXPECT_TRUE(model.named_parameters().contains("query.queries"));
}

TEST(ClassDecoder, TheBaselineProjectsTheAverageOfTheLatents) {
  at::NoGradGuard no_grad;
  Classifier model(DecodeBy::kAverage);
  const Tensor weight = model.named_parameters()["average.output.weight"].normal_();
  const Tensor latents = at::randn({2, kLatents.index, kLatents.channels});
  EXPECT_TRUE(model.decode(latents).allclose(latents.mean(1).matmul(weight.t()), 1e-5, 1e-6));
}

TEST(ClassDecoder, TheSummaryCountsAllParametersAndTheBaselineHasNoQuery) {
  for (const DecodeBy by : {DecodeBy::kQuery, DecodeBy::kAverage}) {
    const Classifier model(by);
    EXPECT_EQ(model.summary().parameters(), num_parameters(model));
  }
  EXPECT_EQ(Classifier(DecodeBy::kQuery).summary().queries, (ArraySize{1, 12}));
  EXPECT_FALSE(Classifier(DecodeBy::kAverage).summary().queries);
}

}  // namespace
}  // namespace perceiver
