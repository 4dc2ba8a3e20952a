#include "perceiver/tasks/glue/model.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/model/flops.h"
#include "perceiver/tasks/application.h"

namespace perceiver {
namespace {

constexpr GlueVariant kVariants[] = {GlueVariant::kSingle, GlueVariant::kMultitaskQuery,
                                     GlueVariant::kSharedToken, GlueVariant::kTaskTokens};

GlueConfig tiny(GlueVariant variant) {
  GlueConfig c;
  c.variant = variant;
  if (variant == GlueVariant::kSingle) c.tasks = {"mnli"};
  c.vocabulary_size = 30;
  c.num_inputs = 12;
  c.input_channels = 16;
  c.query_channels = 16;
  c.encoder.num_latents = 5;
  c.encoder.latent_channels = 24;
  c.encoder.self_attends_per_block = 2;
  c.encoder.cross_attend.qk_channels = c.encoder.self_attend.qk_channels = 8;
  c.encoder.cross_attend.v_channels = c.encoder.self_attend.v_channels = 24;
  c.decoder.cross_attend.qk_channels = 8;
  c.decoder.cross_attend.v_channels = 16;
  return c;
}

class GlueTest : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(1); }

  at::NoGradGuard no_grad;
  Tensor ids = at::randint(30, {2, 11}, at::kLong);
  Tensor tasks = at::tensor({1, 7});
};

TEST_F(GlueTest, EveryTaskAnswersWithItsClassesOrAValue) {
  for (const GlueVariant variant : kVariants) {
    Glue model(tiny(variant));
    const std::vector<Tensor> answers = model->forward(ids, {}, tasks);
    if (variant == GlueVariant::kSingle) {
      ASSERT_EQ(answers.size(), 1u);
      EXPECT_EQ(answers[0].sizes(), (std::vector<int64_t>{2, 3}));
      continue;
    }
    ASSERT_EQ(answers.size(), 8u);
    EXPECT_EQ(answers[0].sizes(), (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(answers[1].sizes(), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(answers[7].sizes(), (std::vector<int64_t>{2, 1}));
  }
}

TEST_F(GlueTest, SummaryOfEveryVariantIsWhatTheForwardPassCalls) {
  for (const GlueVariant variant : kVariants) {
    Glue model(tiny(variant));
    const Tensor text = ids.narrow(0, 0, 1), task = tasks.narrow(0, 0, 1);
    const Tensor whole = at::constant_pad_nd(text, {0, model->max_length() - 11}, 7);
    EXPECT_EQ(model->summary().parameters(), num_parameters(*model)) << to_word(variant);
    EXPECT_EQ(model->summary().flops(), recorded_flops([&] { model->forward(whole, {}, task); }))
        << to_word(variant);
  }
}

TEST_F(GlueTest, PaddingDoesNotMatter) {
  const Tensor mask = at::arange(11).expand({2, 11}) < 6;
  for (const GlueVariant variant : kVariants) {
    Glue model(tiny(variant));
    const Tensor padded = model->forward(ids, mask, tasks)[0];
    const Tensor alone = model->forward(ids.narrow(1, 0, 6), {}, tasks)[0];
    EXPECT_TRUE(at::allclose(padded, alone, 1e-4, 1e-5)) << to_word(variant);
  }
}

TEST_F(GlueTest, QueriesAskEachTaskOfTheSameLatents) {
  Glue model(tiny(GlueVariant::kMultitaskQuery));
  const Tensor outputs = model->decode(model->encode(ids));
  EXPECT_EQ(outputs.sizes(), (std::vector<int64_t>{2, 8, 16}));
  EXPECT_FALSE(at::allclose(outputs.select(1, 0), outputs.select(1, 1)));
}

TEST_F(GlueTest, OneTaskIsAskedWithoutTheOthers) {
  for (const GlueVariant variant : kVariants) {
    Glue model(tiny(variant));
    const Tensor latents = model->encode(ids, {}, tasks);
    const std::vector<Tensor> all = model->forward(ids, {}, tasks);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(
          at::allclose(model->answers(latents, static_cast<int64_t>(i)), all[i], 1e-4, 1e-5))
          << to_word(variant) << " " << i;
    }
  }
  Glue model(tiny(GlueVariant::kMultitaskQuery));
  const Tensor latents = model->encode(ids);
  const int64_t eight = recorded_flops([&] { model->decode(latents); });
  const int64_t one = recorded_flops([&] { model->answers(latents, 0); });
  EXPECT_LT(one, eight / 2);  // keys and values of the latents are most of it in this small model
}

TEST_F(GlueTest, TaskTokensChangeWhatIsEncodedAndTheSharedTokenDoesNot) {
  const Tensor other = at::tensor({2, 7});
  Glue own(tiny(GlueVariant::kTaskTokens)), shared(tiny(GlueVariant::kSharedToken));
  const Tensor a = own->encode(ids, {}, tasks), b = own->encode(ids, {}, other);
  EXPECT_FALSE(a[0].equal(b[0]));
  EXPECT_TRUE(a[1].equal(b[1]));
  EXPECT_TRUE(shared->encode(ids, {}, tasks).equal(shared->encode(ids, {}, other)));
}

// Of 8 x 16 values of a normal distribution cut at two deviations, whose own deviation is 0.88 of
// the scale; five standard errors of that are 0.88 / sqrt(2 * 128) * 5 = 0.28 of it.
TEST_F(GlueTest, TaskTokensStartAsWideAsTheTokensOfTheText) {
  for (const double scale : {0.02, 1.0}) {
    GlueConfig config = tiny(GlueVariant::kTaskTokens);
    config.token_init_scale = scale;
    Glue model(config);
    for (const char* name : {"task_token.weight", "input.token.weight"}) {
      const double deviation = model->named_parameters()[name].std().item<double>();
      EXPECT_NEAR(deviation / scale, 0.88, 0.28) << name;
    }
  }
}

TEST_F(GlueTest, ATokenBeforeTheTextTakesOneOfTheInputs) {
  EXPECT_EQ(Glue(tiny(GlueVariant::kMultitaskQuery))->max_length(), 12);
  EXPECT_EQ(Glue(tiny(GlueVariant::kSharedToken))->max_length(), 11);
  Glue model(tiny(GlueVariant::kSharedToken));
  EXPECT_EQ(error_of([&] {
              model->encode(at::zeros({1, 12}, at::kLong));
            }),
            "a text of 13 tokens is longer than the model's 12; crop it first");
}

TEST_F(GlueTest, MistakesAreNamed) {
  GlueConfig config = tiny(GlueVariant::kSingle);
  config.tasks = {"cola", "mnli"};
  EXPECT_EQ(error_of([&] { Glue{config}; }), "tasks: the variant 'single' takes one task, got 2");
  config.tasks = {};
  EXPECT_EQ(error_of([&] { Glue{config}; }), "tasks: names no task");
  config = tiny(GlueVariant::kMultitaskQuery);
  config.tasks = {"cola", "colla"};
  EXPECT_EQ(error_of([&] { Glue{config}; }),
            "tasks: unknown task 'colla'; did you mean 'cola'?; known: cola, mnli, mrpc, qnli, "
            "qqp, rte, sst2, stsb");
  config.tasks = {"cola", "cola"};
  EXPECT_EQ(error_of([&] { Glue{config}; }), "tasks: a task is named twice");
  config = tiny(GlueVariant::kSharedToken);
  config.cls_id = 30;
  EXPECT_EQ(error_of([&] { Glue{config}; }), "cls_id (30) must be below vocabulary_size (30)");
  Glue model(tiny(GlueVariant::kTaskTokens));
  EXPECT_EQ(error_of([&] { model->encode(ids); }),
            "the variant 'task_tokens' needs the task of each text");
}

TEST(GlueConfigs, RandomForwardPassCostsWhatTheSummarySays) {
  at::NoGradGuard no_grad;
  const std::vector<std::string> small = {"model.num_inputs=12", "model.encoder.num_latents=5",
                                          "model.encoder.latent_channels=8",
                                          "model.encoder.self_attends_per_block=2"};
  for (const GlueVariant variant : kVariants) {
    const std::string config = fmt::format("configs/glue_{}.toml", to_word(variant));
    const std::unique_ptr<Task> task = make_task(read_file(shipped(config)), small);
    Tensor answers;
    EXPECT_EQ(task->summary(Split::kEval).flops(),
              recorded_flops([&] { answers = task->forward_random(1, Split::kEval); }))
        << config;
    EXPECT_EQ(answers.sizes(),
              (std::vector<int64_t>{1, 1, variant == GlueVariant::kSingle ? 3 : 16}));
  }
}

// A text goes in as its bytes, with a task's own latents where it has them.
TEST(GlueTask, ReadsAndEncodesFiles) {
  at::NoGradGuard no_grad;
  const std::vector<std::string> small = {"model.num_inputs=12", "model.encoder.num_latents=5",
                                          "model.encoder.latent_channels=8",
                                          "model.encoder.self_attends_per_block=1"};
  const std::vector<File> text = {{"a.txt", "good film"}};
  for (const GlueVariant variant : kVariants) {
    const std::unique_ptr<Task> task =
        make_task(read_file(shipped(fmt::format("configs/glue_{}.toml", to_word(variant)))), small);
    const Example inputs = task->application()->read(text);
    const bool token = variant == GlueVariant::kSharedToken || variant == GlueVariant::kTaskTokens;
    EXPECT_EQ(inputs.at("ids").sizes(), (std::vector<int64_t>{1, token ? 11 : 12}));
    EXPECT_EQ(task->application()->encode(inputs).size(0),
              variant == GlueVariant::kTaskTokens ? 8 : 1);
    if (variant == GlueVariant::kSingle) {
      EXPECT_NEAR(task->application()->classify(inputs).sum().item<double>(), 1.0, 1e-5);
    } else {
      EXPECT_EQ(error_of([&] { task->application()->classify(inputs); }),
                "the answers of a model of cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb are no "
                "classes; ask for them with --task");
    }
  }
}

TEST(GlueConfigs, HaveThePapersArrays) {  // Tab. 5: eight tasks, 8 x 768
  const ConstructScope scope(Construct::kWithoutMemory);
  const std::pair<const char*, int64_t> kRows[] = {{"glue_single.toml", 1},
                                                   {"glue_multitask_query.toml", 8},
                                                   {"glue_shared_token.toml", 1},
                                                   {"glue_task_tokens.toml", 1}};
  for (const auto& [config, outputs] : kRows) {
    const ModelSummary s = make_task(read_file(shipped("configs") / config))->summary(Split::kEval);
    EXPECT_EQ(s.inputs, (ArraySize{2048, 768})) << config;
    EXPECT_EQ(s.latents, (ArraySize{256, 1280})) << config;
    EXPECT_EQ(s.outputs, (ArraySize{outputs, 768})) << config;
  }
}

}  // namespace
}  // namespace perceiver
