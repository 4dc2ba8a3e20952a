// GLUE trained and measured through a shell, as a user would.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "perceiver/tasks/glue/files_test.h"
#include "tests/child.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliGlue : public testing::Test {
 protected:
  void SetUp() override { write_glue(folder / "GLUE", GlueLayout::kTsv, 20); }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  // The small config, made smaller still.
  std::string train(const std::string& name) const {
    return "train glue_mini --threads 1 --data " + path("GLUE") + " -o " + path(name) +
           " model.num_inputs=32 model.encoder.num_latents=4"
           " model.encoder.self_attends_per_block=1 train.batch=8 train.steps=2";
  }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_glue_" + std::to_string(getpid()));
};

TEST_F(CliGlue, ARunEndsWithTheFiguresOfAllTasksAndEvalRepeatsThem) {
  const Result trained = run(train("run"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("cola matthews"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("):  average "), std::string::npos) << trained.err;
  const size_t table = trained.err.rfind("\n  average  ");
  ASSERT_NE(table, std::string::npos) << trained.err;
  EXPECT_EQ(std::ranges::count(trained.err.substr(table + 1), '\n'), 12) << trained.err;

  const Result measured = run("eval " + path("run") + " --threads 1 --json --data " + path("GLUE"));
  ASSERT_EQ(measured.code, 0) << measured.err;
  const Json json = Json::parse(measured.out);
  EXPECT_EQ(json["examples"], 8 * 2);  // a tenth of twenty of each
  for (const auto& [task, figure] :
       {std::pair{"cola", "matthews"}, std::pair{"mnli", "accuracy"}, std::pair{"mrpc", "f1"},
        std::pair{"qnli", "accuracy"}, std::pair{"qqp", "accuracy"}, std::pair{"rte", "accuracy"},
        std::pair{"sst2", "accuracy"}, std::pair{"stsb", "pearson"}}) {
    ASSERT_TRUE(json.contains(task) && json[task].contains(figure)) << task;
  }
  double sum = 0.0;
  for (const GlueBenchmark& benchmark : glue_benchmarks()) {
    const char* main = benchmark.name == "cola"   ? "matthews"
                       : benchmark.name == "stsb" ? "pearson"
                                                  : "accuracy";
    sum += json[benchmark.name][main].get<double>();
  }
  EXPECT_NEAR(json["average"].get<double>(), sum / 8.0, 1e-9);
}

// One task, eight tasks, and BERT, whose config has the same sizes.
TEST_F(CliGlue, KilledARunComesToTheSameWeights) {
  write_file(folder / "bert.toml", R"(
task = "glue_bert"
[model]
vocabulary_size = 262
num_inputs = 32
input_channels = 16
transformer = { num_layers = 1, num_heads = 2, mlp_channels = 32 }
)");
  std::string one = read_file(shipped("configs") / "glue_mini.toml").bytes;
  const std::string eight_queries = "variant = \"multitask_query\"";
  one.replace(one.find(eight_queries), eight_queries.size(),
              "variant = \"single\"\ntasks = [\"rte\"]");
  write_file(folder / "one.toml", one);
  const std::string schedule =
      " --threads 1 --data " + path("GLUE") +
      " train.batch=8 train.steps=40 train.log_every=1 train.save_every=3 train.eval_every=16";
  const std::string small =
      " model.num_inputs=32 model.encoder.num_latents=4 model.encoder.self_attends_per_block=1" +
      schedule;
  const std::map<std::string, std::string> kinds = {
      {"eight", "train glue_mini" + small},
      {"one", "train " + path("one.toml") + small},
      {"bert", "train " + path("bert.toml") + schedule}};
  for (const auto& [name, command] : kinds) {
    ASSERT_EQ(run(command + " -q -o " + path(name)).code, 0) << name;
    const fs::path killed = folder / (name + "_killed");
    {
      Child child(command + " -q -o " + killed.string());
      wait_for([&] { return fs::exists(killed / "last") || !child.running(); });
      child.send(SIGKILL);
      child.wait();
    }
    const Result resumed = run("train -q --threads 1 --resume " + killed.string());
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    for (const char* model : {"last", "best"}) {
      EXPECT_EQ(read_file(killed / model / "model.safetensors").bytes,
                read_file(folder / name / model / "model.safetensors").bytes)
          << name << " " << model;
    }
  }
}

TEST_F(CliGlue, OneModelAnswersAllTasksAboutAText) {
  ASSERT_EQ(run(train("run")).code, 0);
  const std::string model = " -q --threads 1 -m " + path("run");
  const std::string pair = "\"It rains.\" --pair \"It is wet.\"";
  const Result table = run("classify --task all " + pair + model);
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(std::ranges::count(table.out, '\n'), 9) << table.out;  // what they are, and each task

  const Result all = run("classify --task all --json " + pair + model);
  ASSERT_EQ(all.code, 0) << all.err;
  const Json json = Json::parse(all.out);
  EXPECT_EQ(json["text"], "It rains.");
  EXPECT_EQ(json["pair"], "It is wet.");
  EXPECT_EQ(json["tasks"].size(), 8u);
  const double value = json["tasks"]["stsb"]["value"];
  EXPECT_TRUE(value >= 0.0 && value <= 5.0) << value;
  const Json& mnli = json["tasks"]["mnli"];
  double sum = 0.0, best = 0.0;
  for (const auto& [name, probability] : mnli["probabilities"].items()) {
    sum += probability.get<double>();
    best = std::max(best, probability.get<double>());
  }
  EXPECT_NEAR(sum, 1.0, 1e-5);
  EXPECT_EQ(mnli["probability"].get<double>(), best);
  EXPECT_EQ(mnli["probabilities"][mnli["label"].get<std::string>()].get<double>(), best);

  // A file is as good as the text in it, a word is a text, and each line may be one.
  write_file(folder / "film.txt", "a fine film\n");
  const Result file = run("classify --task sst2 " + path("film.txt") + " --json" + model);
  ASSERT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(file.out, run("classify --task sst2 \"a fine film\" --json" + model).out);
  EXPECT_EQ(run("classify --task sst2 fine" + model).code, 0);
  write_file(folder / "lines.txt", "a fine film\ndull\n");
  const Result lines = run("classify --task sst2 --jsonl --lines " + path("lines.txt") + model);
  ASSERT_EQ(lines.code, 0) << lines.err;
  EXPECT_EQ(std::ranges::count(lines.out, '\n'), 2) << lines.out;

  // The same as the latents say that were written to a file.
  ASSERT_EQ(run("encode --text \"a fine film\" -o " + path("l.safetensors") + model).code, 0);
  const Json asked = Json::parse(
      run("query " + path("l.safetensors") + " -q --threads 1 --tasks sst2 --json").out);
  EXPECT_NEAR(asked["tasks"][0]["probabilities"][0].get<double>(),
              Json::parse(file.out)["tasks"]["sst2"]["probabilities"]["negative"].get<double>(),
              1e-5);

  expect_complaint("classify --task mnli \"It rains.\"" + model,
                   "--task mnli: takes two texts; give the second with --pair");
  expect_complaint("classify --task sst3 \"It rains.\"" + model,
                   "--task: the model has no task 'sst3'; did you mean 'sst2'?; it has cola, mnli, "
                   "mrpc, qnli, qqp, rte, sst2, stsb");
  expect_complaint("classify -q --task sst2 \"a film\" -m " + config("text_classifier_mini.toml"),
                   config("text_classifier_mini.toml") +
                       ": --task asks models of GLUE's tasks, got one of the task text_classifier");
  expect_complaint("classify --task sst2" + model, "give a text to ask about, or a file of one");
}

TEST_F(CliGlue, MistakesAreOneLine) {
  const std::string sst2 = path("GLUE/SST-2/train.tsv");
  write_file(sst2, "sentence\tlabel\nfine\tgreat\n");
  expect_complaint(train("a") + " -q",
                   sst2 + ":2: label 'great', expected negative, positive or a number from 0 to 1");
  fs::remove_all(folder / "GLUE" / "SST-2");
  expect_complaint(
      train("b") + " -q",
      path("GLUE") +
          ": no folder of the task sst2, such as sst2/train.tsv; there is CoLA, "
          "MNLI, MRPC, QNLI, QQP, RTE, STS-B; model.tasks says which tasks are wanted");
}

}  // namespace
}  // namespace perceiver
