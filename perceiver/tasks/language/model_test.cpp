#include "perceiver/tasks/language/model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/model/flops.h"
#include "perceiver/tasks/language/bert.h"
#include "perceiver/tasks/language/tiny_test.h"
#include "perceiver/tasks/on_gpu_test.h"
#include "perceiver/tasks/task.h"

namespace perceiver {
namespace {

LanguageConfig tiny() {
  LanguageConfig c = tiny_language(/*num_inputs=*/12);
  c.vocabulary_size = 30;
  return c;
}

BertConfig tiny_bert() {
  return {.vocabulary_size = 30,
          .num_inputs = 12,
          .input_channels = 16,
          .transformer = {.num_layers = 2, .num_heads = 4, .mlp_channels = 32}};
}

Tensor random_ids(int64_t batch, int64_t length) {
  return at::randint(30, {batch, length}, at::kLong);
}

class LanguageTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(1); }

  at::NoGradGuard no_grad;
  Language model{tiny()};
};

TEST_F(LanguageTest, OnAGpuBfloat16IsAsExactAsTheModules) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  ErrorsOnAGpu errors, masked_errors;
  for (int64_t draw = 0; draw < ErrorsOnAGpu::kDraws; ++draw) {
    at::manual_seed(draw);
    const Tensor ids = random_ids(3, 12).to(at::kCUDA);
    const Tensor mask = (at::rand({3, 12}) < 0.7).to(at::kCUDA);
    Language drawn(tiny());
    errors.add(drawn, [&](at::ScalarType) { return drawn(ids); });
    masked_errors.add(drawn, [&](at::ScalarType) { return drawn(ids, mask); });
  }
  errors.expect_as_exact_as_modules();
  masked_errors.expect_as_exact_as_modules();
}

TEST_F(LanguageTest, LogitsAreOfEveryPositionOverTheVocabulary) {
  EXPECT_EQ(model(random_ids(2, 12)).sizes(), (std::vector<int64_t>{2, 12, 30}));
  EXPECT_EQ(model(random_ids(2, 7)).sizes(), (std::vector<int64_t>{2, 7, 30}));
  EXPECT_EQ(model->encode(random_ids(2, 7)).sizes(), (std::vector<int64_t>{2, 5, 24}));
}

TEST_F(LanguageTest, SomePositionsAreRowsOfAll) {
  const Tensor ids = random_ids(2, 12);
  const Tensor latents = model->encode(ids), all = model(ids);
  const Tensor positions = at::tensor({11, 0, 5});
  EXPECT_TRUE(
      at::allclose(model->decode(latents, positions), all.index_select(1, positions), 1e-5, 1e-5));
  const Tensor each = model->decode(latents, at::tensor({3, 4, 9, 8}).view({2, 2}));
  EXPECT_TRUE(at::allclose(each[1][0], all[1][9], 1e-5, 1e-5));
}

TEST_F(LanguageTest, PaddingDoesNotMatter) {
  const Ids text = {7, 8, 9, 10, 11};
  TokenBatch padded = pad_or_crop({text}, 12, 0);
  const Tensor alone = model(padded.ids.narrow(1, 0, 5));
  const Tensor logits = model(padded.ids, padded.mask);
  EXPECT_TRUE(at::allclose(logits.narrow(1, 0, 5), alone, 1e-5, 1e-5));
  padded.ids.narrow(1, 5, 7).fill_(29);
  EXPECT_TRUE(model(padded.ids, padded.mask).equal(logits));
}

// The encoder's keys and values are looked up once that pays, also of shorter texts, and anew when
// an embedding has changed.
TEST_F(LanguageTest, TextsOfAnyNumberAreEncodedAsByTheModules) {
  const auto expect_same = [&](int64_t length) {
    const Tensor ids = random_ids(3, length), mask = at::rand({3, length}) < 0.7;
    const Tensor logits = model(ids, mask);
    const AttentionKernelScope scope("reference");
    EXPECT_TRUE(at::allclose(logits, model(ids, mask), 1e-4, 1e-4));
  };
  for (const char* changed : {"", "input.token.weight", "input.position.weight"}) {
    if (*changed) model->named_parameters()[changed].mul_(-1.3);
    for (int64_t text = 0; text < 10; ++text) expect_same(text % 2 ? 12 : 7);
  }
}

TEST_F(LanguageTest, TheMaskIsTheQueriesToo) {
  const Tensor mask = at::arange(12).view({1, 12}) < 5;
  const Tensor a = model(random_ids(1, 12), mask), b = model(random_ids(1, 12), mask);
  EXPECT_TRUE(a[0][5].equal(b[0][5]));
  EXPECT_FALSE(a[0][4].equal(b[0][4]));
}

TEST_F(LanguageTest, LogitsAreTiedToTheEmbedding) {
  model->named_parameters()["bias"].fill_(0.5);
  const Tensor ids = random_ids(1, 12);
  model->named_parameters()["input.token.weight"][29].zero_();
  const Tensor logits = model(ids.clamp_max(28));
  EXPECT_TRUE(logits.select(2, 29).eq(0.5).all().item<bool>());
}

TEST_F(LanguageTest, WhatDoesNotFitTheModelIsRefused) {
  EXPECT_EQ(error_of([&] { model(random_ids(1, 13)); }),
            "a text of 13 tokens is longer than the model's 12; crop it first");
  EXPECT_EQ(error_of([&] {
              model(at::full({1, 3}, 30, at::kLong));
            }),
            "id 30 is not in the model's vocabulary of 30");
  EXPECT_EQ(error_of([&] {
              model(random_ids(1, 5), at::ones({1, 4}, at::kBool));
            }),
            "mask has shape [1, 4], expected [1, 5]");
  EXPECT_EQ(error_of([&] {
              model->decode(at::randn({1, 5, 24}), at::tensor({12}));
            }),
            "position 12 is not among the model's 12");
}

TEST_F(LanguageTest, SummaryIsWhatTheForwardPassCalls) {
  const ModelSummary summary = model->summary();
  EXPECT_EQ(summary.parameters(), num_parameters(*model));
  EXPECT_EQ(summary.flops(), recorded_flops([&] { model(random_ids(1, 12)); }));
}

// A latent between two places starts nearer to them than to any other; queries start as positions.
TEST_F(LanguageTest, PlacesCanStartAsSinusoids) {
  LanguageConfig c = tiny();
  c.place_init = PlaceInit::kSinusoids;
  c.encoder.latent_channels = c.input_channels;
  c.encoder.num_latents = c.num_inputs / 2;
  const Language placed(c);
  const auto parameters = placed->named_parameters();
  const Tensor& positions = parameters["input.position.weight"];
  EXPECT_TRUE(parameters["query.queries"].equal(positions));
  EXPECT_NEAR(positions.square().mean().item<double>(), 0.02 * 0.02, 1e-8);
  const Tensor alike = at::mm(parameters["encoder.latents"], positions.t());
  const Tensor nearest = std::get<0>(std::get<1>(alike.topk(2, 1)).sort(1));
  EXPECT_TRUE(nearest.flatten().equal(at::arange(c.num_inputs))) << nearest;
}

TEST(Bert, SummaryIsWhatTheForwardPassCalls) {
  at::NoGradGuard no_grad;
  Bert model(tiny_bert());
  EXPECT_EQ(model->summary().parameters(), num_parameters(*model));
  EXPECT_EQ(model->summary().flops(), recorded_flops([&] { model(random_ids(1, 12)); }));
}

TEST(Bert, PaddingDoesNotMatter) {
  at::NoGradGuard no_grad;
  Bert model(tiny_bert());
  const Tensor ids = random_ids(2, 12), mask = at::arange(12).expand({2, 12}) < 5;
  EXPECT_TRUE(
      at::allclose(model(ids, mask).narrow(1, 0, 5), model(ids.narrow(1, 0, 5)), 1e-5, 1e-5));
}

TEST(Bert, HeadsThatDoNotDivideChannelsAreNamedWithTheirPlace) {
  BertConfig config = tiny_bert();
  config.transformer.num_heads = 5;
  EXPECT_EQ(error_of([&] { Bert{config}; }),
            "transformer: qk_channels (16) and v_channels (16) must be multiples of num_heads (5)");
}

// Tab. 1 and 15, and the operations of the whole pass, which was counted apart from this code: two
// for each multiply-accumulate, logits of every position. The paper counts less of it.
TEST(LanguageConfigs, HaveThePapersSizes) {
  const struct {
    const char* config;
    std::optional<double> parameters;
    double flops;
  } kRows[] = {
      {"bert_base.toml", 110e6, 121.8e9},
      {"bert_matching_flops.toml", 20e6, 129.4e9},
      {"language_sentencepiece.toml", 223e6, 133.6e9},
      {"language_bytes.toml", 201e6, 120.9e9},
      {"language_bytes_plus.toml", 425e6, 240.9e9},
      {"language_latents_128.toml", {}, 127.4e9},
      {"language_latents_512.toml", {}, 134.1e9},
  };
  const ConstructScope scope(Construct::kWithoutMemory);
  for (const auto& [config, parameters, flops] : kRows) {
    const std::unique_ptr<Task> task = make_task(read_file(shipped("configs") / config));
    const double built = static_cast<double>(num_parameters(task->model()));
    EXPECT_NEAR(built / parameters.value_or(built), 1.0, 0.005) << config;
    EXPECT_NEAR(task->summary(Split::kEval).flops(), flops, 0.05e9) << config;
  }
}

TEST(LanguageConfigs, ReleasedModelHasItsParameters) {
  const ConstructScope scope(Construct::kWithoutMemory);
  EXPECT_EQ(num_parameters(*Language(LanguageConfig{})), 201'108'230);
}

TEST(LanguageConfigs, RandomForwardPassCostsWhatTheSummarySays) {
  at::NoGradGuard no_grad;
  const std::vector<std::string> smaller = {"model.num_inputs=12", "model.vocabulary_size=30"};
  std::vector<std::string> language = smaller, bert = smaller;
  language.insert(language.end(), {"model.encoder.num_latents=5", "model.encoder.latent_channels=8",
                                   "model.encoder.self_attends_per_block=2"});
  bert.push_back("model.transformer.num_layers=2");
  const std::unique_ptr<Task> tasks[] = {
      make_task(read_file(shipped("configs/language_bytes.toml")), language),
      make_task(read_file(shipped("configs/bert_base.toml")), bert)};
  for (const std::unique_ptr<Task>& task : tasks) {
    for (const Split split : {Split::kTrain, Split::kEval}) {
      Tensor logits;
      EXPECT_EQ(task->summary(split).flops(),
                recorded_flops([&] { logits = task->forward_random(1, split); }));
      EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{1, 12, 30}));
    }
  }
}

// Tab. 5 and 11.
TEST(LanguageConfigs, HaveThePapersArrays) {
  const ConstructScope scope(Construct::kWithoutMemory);
  const ModelSummary bytes =
      make_task(read_file(shipped("configs/language_bytes.toml")))->summary(Split::kTrain);
  EXPECT_EQ(bytes.inputs, (ArraySize{2048, 768}));
  EXPECT_EQ(bytes.latents, (ArraySize{256, 1280}));
  EXPECT_EQ(bytes.outputs, (ArraySize{2048, 768}));
  const ModelSummary tokens =
      make_task(read_file(shipped("configs/language_sentencepiece.toml")))->summary(Split::kTrain);
  EXPECT_EQ(tokens.inputs, (ArraySize{512, 768}));
  EXPECT_EQ(tokens.outputs, (ArraySize{512, 768}));
}

}  // namespace
}  // namespace perceiver
