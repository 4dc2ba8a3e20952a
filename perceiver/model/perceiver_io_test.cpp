#include "perceiver/model/perceiver_io.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/serialize.h>

#include <sstream>

#include "perceiver/core/error_test.h"
#include "perceiver/model/average_project.h"
#include "perceiver/model/query.h"

namespace perceiver {
namespace {

class PerceiverIoTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(1); }

  at::NoGradGuard no_grad;
  EncoderConfig encoder{.num_latents = 6,
                        .latent_channels = 16,
                        .num_blocks = 2,
                        .self_attends_per_block = 2,
                        .self_attend = {.num_heads = 4}};
  PerceiverIo small() {
    return PerceiverIo(PerceiverIoChannels{.inputs = 20, .queries = 12, .outputs = 5}, encoder,
                       DecoderConfig{});
  }
};

TEST_F(PerceiverIoTest, ThreeCallsApartAreTheForwardPass) {
  PerceiverIo model = small();
  const Tensor inputs = at::randn({2, 30, 20}), queries = at::randn({2, 11, 12});
  const Tensor encoded = model->encode(inputs);
  EXPECT_EQ(encoded.sizes(), (std::vector<int64_t>{2, 6, 16}));
  const Tensor latents = model->process(encoded);
  const Tensor outputs = model->decode(latents, queries);
  EXPECT_EQ(outputs.sizes(), (std::vector<int64_t>{2, 11, 5}));
  EXPECT_TRUE(outputs.equal(model->forward(inputs, queries)));
}

TEST_F(PerceiverIoTest, LatentsCanBeKeptSavedAndAskedAgain) {
  PerceiverIo model = small();
  const Tensor queries = at::randn({1, 11, 12});
  const Tensor latents = model->process(model->encode(at::randn({1, 30, 20})));
  std::stringstream file;
  torch::save(latents, file);
  Tensor again;
  torch::load(again, file);
  EXPECT_TRUE(model->decode(again, queries).equal(model->decode(latents, queries)));
}

// Stored, or looked up in tables: the latents are the same.
TEST_F(PerceiverIoTest, InputsNeedNotBeStored) {
  const Array inputs(
      LearnedSums{at::randn({9, 20}), at::randn({30, 20}), at::randint(9, {4, 30}, at::kLong)});
  const Tensor mask = at::rand({4, 30}) < 0.7;
  encoder.cross_attend = {.num_heads = 2, .qk_channels = 8, .v_channels = 16};
  for (const int64_t looks : {1, 2}) {
    encoder.num_cross_attends = looks;
    Encoder module(20, encoder);
    const Tensor latents = module(inputs.materialise(), mask);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(at::allclose(module(inputs, mask), latents, 1e-4, 1e-5));
    }
  }
}

TEST_F(PerceiverIoTest, BlocksShareTheirWeights) {
  PerceiverIo twice = small();
  encoder.num_blocks = 1;
  PerceiverIo once = small();
  EXPECT_EQ(num_parameters(*once), num_parameters(*twice));
  for (const auto& p : twice->named_parameters())
    once->named_parameters()[p.key()].copy_(p.value());
  const Tensor z = at::randn({1, 6, 16});
  EXPECT_TRUE(twice->process(z).equal(once->process(once->process(z))));
}

TEST_F(PerceiverIoTest, RepeatedCrossAttendsShareTheirWeightsAndSeeTheInputs) {
  encoder.num_blocks = 4;
  encoder.num_cross_attends = 4;
  Encoder model(20, encoder);
  const Tensor inputs = at::randn({1, 30, 20});
  const int64_t attend = num_parameters(*CrossAttend(16, 20, encoder.cross_attend));
  encoder.num_cross_attends = 1;
  EXPECT_EQ(num_parameters(*model), num_parameters(*Encoder(20, encoder)) + attend);
  const Tensor z = model->encode(inputs);
  EXPECT_FALSE(model->process(z, inputs).equal(model->process(z, at::zeros_like(inputs))));
}

TEST_F(PerceiverIoTest, SlicedDecodeEqualsWholeDecode) {
  PerceiverIo model = small();
  const Tensor latents = model->process(model->encode(at::randn({2, 30, 20})));
  const Tensor queries = at::randn({2, 11, 12});
  const Tensor whole = model->decode(latents, queries);
  for (const int64_t slice : {1, 4, 10, 11, 12}) {
    EXPECT_TRUE(at::allclose(decode_in_slices(model, latents, queries, slice), whole, 1e-5, 1e-6))
        << slice;
  }
}

TEST_F(PerceiverIoTest, MaskedInputsDoNotMatter) {
  PerceiverIo model = small();
  Tensor inputs = at::randn({1, 10, 20});
  const Tensor mask = at::arange(10).view({1, 10}) < 7;
  const Tensor expected = model->encode(inputs.narrow(1, 0, 7));
  EXPECT_TRUE(at::allclose(model->encode(inputs, mask), expected, 1e-5, 1e-6));
  inputs.narrow(1, 7, 3).fill_(1e6);
  EXPECT_TRUE(at::allclose(model->encode(inputs, mask), expected, 1e-5, 1e-6));
}

TEST_F(PerceiverIoTest, MaskedQueriesDoNotSeeTheLatents) {
  PerceiverIo model = small();
  const Tensor queries = at::randn({1, 3, 12});
  const Tensor mask = at::arange(3).view({1, 3}) < 2;
  const Tensor a = model->decode(at::randn({1, 6, 16}), queries, mask);
  const Tensor b = model->decode(at::randn({1, 6, 16}), queries, mask);
  EXPECT_TRUE(a[0][2].equal(b[0][2]));
  EXPECT_FALSE(a[0][1].equal(b[0][1]));
}

TEST_F(PerceiverIoTest, PartsAddUpToTheModulesParameters) {
  for (const int64_t looks : {1, 2}) {
    encoder.num_cross_attends = looks;
    PerceiverIo model = small();
    ModelSummary summary;
    summary.add("", model->parts(30, 11));
    EXPECT_EQ(summary.parameters(), num_parameters(*model));
  }
}

TEST_F(PerceiverIoTest, HeadsThatDoNotDivideChannelsAreNamedWithTheirPlace) {
  encoder.self_attend.num_heads = 5;
  EXPECT_EQ(error_of([&] { small(); }),
            "encoder.self_attend: qk_channels (16) and v_channels (16) must be multiples of "
            "num_heads (5)");
  encoder.self_attend.num_heads = 4;
  encoder.num_cross_attends = 3;
  EXPECT_EQ(error_of([&] { small(); }),
            "encoder.num_cross_attends (3) must be at most num_blocks (2)");
}

TEST(AverageProject, StartsAtZeroAndAveragesTheLatents) {
  at::NoGradGuard no_grad;
  AverageProject decoder(16, 5);
  const Tensor latents = at::randn({2, 6, 16});
  EXPECT_TRUE(decoder(latents).eq(0).all().item<bool>());
  Tensor weight = decoder->named_parameters()["output.weight"];
  weight.copy_(at::randn({5, 16}));
  EXPECT_TRUE(at::allclose(decoder(latents).squeeze(1), at::matmul(latents.mean(1), weight.t()),
                           1e-5, 1e-6));
}

}  // namespace
}  // namespace perceiver
