// A classifier of a user's own texts, trained, measured and asked through a shell.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/child.h"
#include "tests/program.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliTextClassifier : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder);
    std::string csv = "id,text,label\r\n";
    for (int i = 0; i < 40; ++i) {
      csv += std::to_string(i) + (i % 2 ? ",\"a \"\"fine\"\" film, no " : ",\"a dull film,\n no ") +
             std::to_string(i) + "\"" + (i % 2 ? ",praise\r\n" : ",blame\r\n");
    }
    write_file(folder / "reviews.csv", csv);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  // The small config, made smaller still.
  std::string train(const std::string& name) const {
    return "train text_classifier_mini --threads 1 --data " + path("reviews.csv") + " -o " +
           path(name) +
           " model.num_inputs=48 model.input_channels=32 model.encoder.num_latents=4"
           " model.encoder.self_attends_per_block=1 train.batch=8";
  }

  std::map<std::string, double> losses(const std::string& run) const {
    std::map<std::string, double> losses;
    std::istringstream text(read_file(folder / run / "metrics.jsonl").bytes);
    for (std::string line; std::getline(text, line);) {
      const Json json = Json::parse(line);
      losses[json["kind"].get<std::string>() + json["step"].dump()] = json["loss"];
    }
    return losses;
  }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_texts_" + std::to_string(getpid()));
};

TEST_F(CliTextClassifier, IsTrainedMeasuredAndAskedByTheNamesInTheFile) {
  const Result trained = run(train("run") + " train.steps=2");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("macro F1"), std::string::npos) << trained.err;
  const Json config = Json::parse(read_file(folder / "run" / "best" / "config.json").bytes);
  EXPECT_EQ(config["architectures"][0], "PerceiverForSequenceClassification");
  EXPECT_EQ(config["id2label"], (Json{{"0", "blame"}, {"1", "praise"}}));

  const Result held_out = run("eval " + path("run") + " --threads 1 --json");
  ASSERT_EQ(held_out.code, 0) << held_out.err;
  const Json share = Json::parse(held_out.out);
  EXPECT_EQ(share["examples"], 4);  // a tenth
  for (const char* figure : {"accuracy", "loss", "macro_f1", "matthews"}) {
    EXPECT_TRUE(share.contains(figure)) << figure;
  }

  // By name, whatever else the file has, and in whichever order.
  write_file(folder / "test.jsonl",
             "{\"review\": \"a fine film\", \"label\": \"praise\"}\n"
             "{\"review\": \"another one\", \"label\": \"praise\"}\n");
  const Result other = run("eval " + path("run") + " --threads 1 --json --data " +
                           path("test.jsonl") + " data.text_column=review");
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(Json::parse(other.out)["examples"], 2);
  write_file(folder / "test.jsonl", "{\"text\": \"a film\", \"label\": \"boredom\"}\n");
  expect_complaint("eval -q " + path("run") + " --data " + path("test.jsonl"),
                   path("test.jsonl") + ":1: label 'boredom', expected one of blame, praise");

  write_file(folder / "ask.txt", "a \"fine\" film\n");
  const Result asked = run("classify --json -m " + path("run") + " " + path("ask.txt"));
  ASSERT_EQ(asked.code, 0) << asked.err;
  const Json top = Json::parse(asked.out)[0]["top"];
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ((std::set<std::string>{top[0]["name"], top[1]["name"]}),
            (std::set<std::string>{"blame", "praise"}));
}

TEST_F(CliTextClassifier, KilledARunGoesOnToTheSameLosses) {
  const std::string often =
      " train.steps=60 train.save_every=5 train.eval_every=20 train.log_every=1";
  ASSERT_EQ(run(train("undisturbed") + often).code, 0);
  {
    Child child(train("killed") + often);
    wait_for([&] {
      return !child.running() || fs::exists(folder / "killed" / "last" / "model.safetensors");
    });
    child.send(SIGKILL);
    child.wait();
  }
  const Result resumed = run("train -q --threads 1 --resume " + path("killed"));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(losses("killed"), losses("undisturbed"));
  EXPECT_EQ(read_file(folder / "killed" / "best" / "model.safetensors").bytes,
            read_file(folder / "undisturbed" / "best" / "model.safetensors").bytes);
}

TEST_F(CliTextClassifier, MistakesAreOneLine) {
  const std::string csv = path("reviews.csv");
  expect_complaint(train("a") + " -q model.num_classes=3",
                   csv +
                       ": has 2 classes (blame, praise), the model has 3 (model.num_classes); set "
                       "model.num_classes=2");
  expect_complaint(train("b") + " -q data.text_column=review",
                   csv +
                       ":1: no column 'review'; there is id, text, label; data.text_column says "
                       "which it is");
  write_file(csv, "text,label\nfine,good\ndull, really,bad\n");
  expect_complaint(train("c") + " -q", csv + ":3: 3 fields, expected 2 as in the first line");
  write_file(csv, "text,label\nfine,good\n,bad\n");
  expect_complaint(train("d") + " -q", csv + ":3: no text, expected some");
  EXPECT_FALSE(fs::exists(path("a")));
}

}  // namespace
}  // namespace perceiver
