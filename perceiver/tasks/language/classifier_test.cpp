#include "perceiver/tasks/language/classifier.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/model/flops.h"
#include "perceiver/tasks/application.h"

namespace perceiver {
namespace {

TextClassifierConfig tiny() {
  TextClassifierConfig c;
  c.vocabulary_size = 30;
  c.num_inputs = 12;
  c.input_channels = 16;
  c.num_classes = 3;
  c.encoder.num_latents = 5;
  c.encoder.latent_channels = 24;
  c.encoder.self_attends_per_block = 2;
  c.encoder.cross_attend.qk_channels = c.encoder.self_attend.qk_channels = 8;
  c.encoder.cross_attend.v_channels = c.encoder.self_attend.v_channels = 24;
  return c;
}

Tensor random_ids(int64_t batch, int64_t length) {
  return at::randint(30, {batch, length}, at::kLong);
}

class TextClassifierTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(1); }

  at::NoGradGuard no_grad;
  TextClassifier model{tiny()};
};

TEST_F(TextClassifierTest, LogitsAreOfTheClasses) {
  EXPECT_EQ(model(random_ids(2, 12)).sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(model(random_ids(1, 7)).sizes(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(model->encode(random_ids(2, 7)).sizes(), (std::vector<int64_t>{2, 5, 24}));
}

TEST_F(TextClassifierTest, PaddingDoesNotMatter) {
  const Ids text = {7, 8, 9, 10, 11};
  TokenBatch padded = pad_or_crop({text}, 12, 0);
  const Tensor logits = model(padded.ids, padded.mask);
  EXPECT_TRUE(at::allclose(logits, model(padded.ids.narrow(1, 0, 5)), 1e-5, 1e-5));
  padded.ids.narrow(1, 5, 7).fill_(29);
  EXPECT_TRUE(model(padded.ids, padded.mask).equal(logits));
}

TEST_F(TextClassifierTest, OneQueryOfTheLatentsChannelsAsksWithOneHead) {
  const auto parameters = model->named_parameters();
  const Tensor queries = parameters["query.queries"];
  EXPECT_EQ(queries.sizes(), (std::vector<int64_t>{1, 24}));
  const ModelSummary summary = model->summary();
  const auto decode = std::find_if(summary.parts.begin(), summary.parts.end(), [](const Part& p) {
    return p.name.starts_with("decoder.") && p.attention;
  });
  ASSERT_NE(decode, summary.parts.end());
  EXPECT_EQ(decode->attention->heads, 1);
  EXPECT_EQ(decode->attention->qk_channels, 24);
  EXPECT_EQ(decode->attention->v_channels, 24);

  TextClassifierConfig config = tiny();
  config.query_channels = 8;
  TextClassifier narrow(config);
  EXPECT_EQ(narrow->named_parameters()["query.queries"].sizes(), (std::vector<int64_t>{1, 8}));
  EXPECT_EQ(narrow(random_ids(2, 12)).sizes(), (std::vector<int64_t>{2, 3}));
}

// Weights that a language model has too are named as there: fine-tuning starts from it.
TEST_F(TextClassifierTest, PartsAreNamedAsTheLanguageModels) {
  std::set<std::string> parts;
  for (const auto& child : model->named_children()) parts.insert(child.key());
  EXPECT_EQ(parts, (std::set<std::string>{"decoder", "encoder", "input", "query"}));
}

TEST_F(TextClassifierTest, WhatDoesNotFitTheModelIsRefused) {
  EXPECT_EQ(error_of([&] { model(random_ids(1, 13)); }),
            "a text of 13 tokens is longer than the model's 12; crop it first");
  EXPECT_EQ(error_of([&] {
              model(random_ids(1, 5), at::ones({1, 4}, at::kBool));
            }),
            "mask has shape [1, 4], expected [1, 5]");
}

TEST_F(TextClassifierTest, SummaryIsWhatTheForwardPassCalls) {
  const ModelSummary summary = model->summary();
  EXPECT_EQ(summary.parameters(), num_parameters(*model));
  EXPECT_EQ(summary.flops(), recorded_flops([&] { model(random_ids(1, 12)); }));
  EXPECT_EQ(summary.queries, (ArraySize{1, 24}));
  EXPECT_EQ(summary.outputs, (ArraySize{1, 3}));
}

TEST(TextClassifierTask, RandomForwardPassCostsWhatTheSummarySays) {
  at::NoGradGuard no_grad;
  const std::unique_ptr<Task> task =
      make_task(read_file(shipped("configs/text_classifier_mini.toml")),
                std::vector<std::string>{"model.num_classes=4"});
  Tensor logits;
  EXPECT_EQ(task->summary(Split::kEval).flops(),
            recorded_flops([&] { logits = task->forward_random(2, Split::kEval); }) / 2);
  EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{2, 1, 4}));
}

TEST(TextClassifierTask, ReadsFilesAsHuggingFacesTokenizerDoes) {
  at::NoGradGuard no_grad;
  const std::unique_ptr<Task> task =
      make_task(read_file(shipped("configs/text_classifier_mini.toml")));
  const std::vector<File> text = {{"a.txt", "good\n"}};
  const Example inputs = task->application()->read(text);
  const Tensor ids = at::tensor({4, 'g' + 6, 'o' + 6, 'o' + 6, 'd' + 6, 5});
  EXPECT_TRUE(inputs.at("ids")[0].narrow(0, 0, 6).equal(ids));
  const Tensor probabilities = task->application()->classify(inputs);
  EXPECT_NEAR(probabilities.sum().item<double>(), 1.0, 1e-5);
  auto& model = dynamic_cast<TextClassifierImpl&>(task->model());
  EXPECT_TRUE(at::allclose(probabilities, model.forward(ids.unsqueeze(0)).softmax(-1), 1e-4, 1e-6));
  EXPECT_TRUE(at::allclose(task->application()->encode(inputs), model.encode(ids.unsqueeze(0)),
                           1e-4, 1e-5));
}

}  // namespace
}  // namespace perceiver
