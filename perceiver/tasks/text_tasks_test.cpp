#include "perceiver/tasks/text_tasks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/kernels/attention/attention.h"
#include "perceiver/tasks/glue/bert.h"

namespace perceiver {
namespace {

constexpr int64_t kLatents = 5, kLayers = 2;
const std::vector<std::string> kAllTasks = {"all"};

Model glue(const std::string& variant, const std::string& tasks = "") {
  at::manual_seed(1);
  return new_model({"glue.toml", "task = 'glue'\n" + tasks + "model.variant = '" + variant + R"('
model.num_inputs = 40
model.input_channels = 16
model.query_channels = 16
model.decoder.cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 16 }
[model.encoder]
num_latents = 5
latent_channels = 24
self_attends_per_block = 1
cross_attend = { num_heads = 2, qk_channels = 8, v_channels = 24 }
self_attend = { num_heads = 2, qk_channels = 8, v_channels = 24 }
)"});
}

Model bert() {
  at::manual_seed(1);
  return new_model({"bert.toml", R"(
task = 'glue_bert'
model.vocabulary_size = 262
model.num_inputs = 40
model.input_channels = 16
model.transformer = { num_layers = 2, num_heads = 2, mlp_channels = 32 }
)"});
}

const std::vector<File> kPair = {{"the text", "It rains."}, {"the text", "It is wet."}};

// How often the latents, of which there are so many, look at something else.
int64_t encodes_of(Model& model, const std::vector<std::string>& tasks) {
  int64_t count = 0;
  const AttentionObserver observer([&](const AttentionInputs& in) {
    count += in.q.size(2) == kLatents && in.k.size(2) != kLatents;
    return Observed::kGoOn;
  });
  answer_tasks(model, kPair, tasks);
  return count;
}

TEST(AnswerTasks, OneEncodeAnswersAllEight) {
  Model queries = glue("multitask_query"), token = glue("shared_token");
  EXPECT_EQ(encodes_of(queries, kAllTasks), 1);
  EXPECT_EQ(encodes_of(token, kAllTasks), 1);
  // A token of its own before the text is another text.
  Model tokens = glue("task_tokens");
  EXPECT_EQ(encodes_of(tokens, kAllTasks), 8);
  EXPECT_EQ(encodes_of(tokens, {"sst2", "cola"}), 2);
}

TEST(AnswerTasks, OnePassOfBertAnswersAllEight) {
  Model model = bert();
  int64_t count = 0;
  const AttentionObserver observer([&](const AttentionInputs&) {
    ++count;
    return Observed::kGoOn;
  });
  EXPECT_EQ(answer_tasks(model, kPair, kAllTasks).size(), 8u);
  EXPECT_EQ(count, kLayers);
}

// Each answer is the model's own for that task.
TEST(AnswerTasks, AreThoseOfTheForwardPass) {
  at::NoGradGuard no_grad;
  Ids ids = ByteTokenizer().encode("It rains.");
  ids.push_back(ByteTokenizer::kSep);
  for (const int64_t id : ByteTokenizer().encode("It is wet.")) ids.push_back(id);
  const Tensor text = at::tensor(ids).unsqueeze(0);
  const auto expect_same = [](const std::vector<TaskAnswer>& answers,
                              const std::vector<Tensor>& expected) {
    ASSERT_EQ(answers.size(), expected.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      const TaskAnswer& answer = answers[i];
      if (answer.classes.empty()) {
        EXPECT_NEAR(answer.value, expected[i].clamp(0.0, 5.0).item<double>(), 1e-5);
        continue;
      }
      const Tensor probabilities = expected[i][0].softmax(-1);
      ASSERT_EQ(std::ssize(answer.probabilities), probabilities.size(0)) << answer.task;
      for (int64_t c = 0; c < probabilities.size(0); ++c) {
        EXPECT_NEAR(answer.probabilities[c], probabilities[c].item<double>(), 1e-5) << answer.task;
      }
    }
  };
  for (const char* variant : {"multitask_query", "shared_token"}) {
    Model model = glue(variant);
    expect_same(answer_tasks(model, kPair, kAllTasks),
                model_as<GlueImpl>(model, "this", "glue").forward(text));
  }
  Model baseline = bert();
  expect_same(answer_tasks(baseline, kPair, kAllTasks),
              model_as<GlueBertImpl>(baseline, "this", "glue_bert").forward(text));
}

TEST(AnswerTasks, OfOneTextThoseOfPairsAreLeftOpen) {
  Model model = glue("multitask_query");
  const std::span<const File> one(kPair.data(), 1);
  const std::vector<TaskAnswer> answers = answer_tasks(model, one, kAllTasks);
  ASSERT_EQ(answers.size(), 8u);
  for (const TaskAnswer& answer : answers) {
    EXPECT_EQ(answer.needs_pair, answer.task != "cola" && answer.task != "sst2") << answer.task;
  }
  EXPECT_EQ(to_json(answers).size(), 2u);
  EXPECT_NE(task_table(answers).find("needs --pair"), std::string::npos);
  EXPECT_EQ(error_of([&] { answer_tasks(model, one, {"mnli"}); }),
            "--task mnli: takes two texts; give the second with --pair");
}

TEST(AnswerTasks, MistakesAreOneLine) {
  Model model = glue("multitask_query", "model.tasks = ['cola', 'sst2']\n");
  EXPECT_EQ(error_of([&] { answer_tasks(model, kPair, {"sst3"}); }),
            "--task: the model has no task 'sst3'; did you mean 'sst2'?; it has cola, sst2");
  Model other = new_model({"m.toml", "task = 'text_classifier'\nmodel.num_inputs = 8"});
  EXPECT_EQ(error_of([&] { answer_tasks(other, kPair, kAllTasks); }),
            "m.toml: --task asks models of GLUE's tasks, got one of the task text_classifier");
}

TEST(TaskTable, HasALineATask) {
  const std::vector<TaskAnswer> answers = {
      {.task = "sst2", .classes = {"negative", "positive"}, .probabilities = {0.1, 0.9}},
      {.task = "stsb", .value = 3.25},
      {.task = "rte", .classes = {"entailment", "not_entailment"}, .needs_pair = true}};
  EXPECT_EQ(task_table(answers),
            "  task        answer  probability\n"
            "  sst2      positive        0.900\n"
            "  stsb          3.25\n"
            "  rte   needs --pair\n");
  EXPECT_EQ(to_json(answers).dump(),
            "{\"sst2\":{\"label\":\"positive\",\"probability\":0.9,\"probabilities\":{\"negative\":"
            "0.1,\"positive\":0.9}},\"stsb\":{\"value\":3.25}}");
}

}  // namespace
}  // namespace perceiver
