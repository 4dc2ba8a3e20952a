// GLUE trained and measured through a shell, as a user would.
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
  EXPECT_NE(trained.err.find("average"), std::string::npos) << trained.err;

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
  const std::string schedule =
      " --threads 1 --data " + path("GLUE") +
      " train.batch=8 train.steps=40 train.log_every=1 train.save_every=3 train.eval_every=16";
  const std::string small =
      "train glue_mini model.num_inputs=32 model.encoder.num_latents=4"
      " model.encoder.self_attends_per_block=1" +
      schedule;
  const std::map<std::string, std::string> kinds = {
      {"eight", small},
      {"one", small + " model.variant=single model.tasks=['rte']"},
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
