// Training driven through a shell: killed, interrupted, out of disk, and resumed.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "perceiver/data/gzip_file_test.h"
#include "perceiver/weights/safetensors.h"
#include "tests/child.h"
#include "tests/logged_losses.h"
#include "tests/program.h"
#include "tests/tiny_training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliTrain : public testing::Test {
 protected:
  void SetUp() override {
    write_tiny_training(folder, R"(
learning_rate = 0.01
steps = 400
batch = 4
log_every = 1
eval_every = 40
save_every = 5
)");
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string start(const std::string& run) const {
    return "train " + path("tiny.toml") + " --data " + path("text.txt") + " --threads 1 -o " +
           path(run);
  }

  std::map<std::string, double> losses(const std::string& run) const {
    return logged_losses(folder / run);
  }

  void expect_the_same_when_killed(const std::string& arguments, int times) const;

  fs::path folder = fs::path(testing::TempDir()) / ("cli_train_" + std::to_string(getpid()));
};

// A run of these arguments, killed so many times, and an undisturbed one come to the same.
void CliTrain::expect_the_same_when_killed(const std::string& arguments, int times) const {
  ASSERT_EQ(run(start("undisturbed") + arguments).code, 0);
  std::mt19937 random(1);
  const auto config_written = [&] { return fs::exists(folder / "killed" / "config.toml"); };
  const auto steps = [&] {
    const fs::path metrics = folder / "killed" / "metrics.jsonl";
    if (!fs::exists(metrics)) return int64_t{0};
    const std::string text = read_file(metrics).bytes;
    return static_cast<int64_t>(std::count(text.begin(), text.end(), '\n'));
  };
  int kills = 0;
  while (kills < times) {
    // Some way into the run, wherever that is: while steps are made, saved, or evaluated.
    const int64_t until = steps() + static_cast<int64_t>(random() % 30);
    Child child(config_written() ? "train -q --threads 1 --resume " + path("killed")
                                 : start("killed") + arguments);
    while (child.running() && steps() < until) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    if (!child.running()) break;
    child.send(SIGKILL);
    child.wait();
    ++kills;
  }
  EXPECT_EQ(kills, times);
  const Result last = run("train -q --threads 1 --resume " + path("killed"));
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(losses("killed"), losses("undisturbed"));
  for (const char* model : {"last", "best"}) {
    EXPECT_EQ(read_file(folder / "killed" / model / "model.safetensors").bytes,
              read_file(folder / "undisturbed" / model / "model.safetensors").bytes)
        << model;
  }
}

TEST_F(CliTrain, KilledTwentyTimesARunComesToTheSameLosses) {
  expect_the_same_when_killed(" train.average=0.9", 20);
}

// Two sources by their weights, over several epochs of each.
TEST_F(CliTrain, KilledSixTimesARunOnAStreamComesToTheSameLosses) {
  const std::string text = read_file(folder / "text.txt").bytes;
  fs::create_directories(folder / "c4");
  for (const char* shard : {"0", "1", "2"}) {
    std::string lines;
    std::istringstream documents(text);
    for (std::string line; std::getline(documents, line);) {
      lines += Json{{"text", shard + line}, {"url", "https://a.org"}}.dump() + "\n";
    }
    write_gzip(folder / "c4" / ("c4-train.0000" + std::string(shard) + ".json.gz"), lines);
  }
  expect_the_same_when_killed(" --data " + path("c4") + " data.weights=[30,70]", 6);
  const std::string config = read_file(folder / "killed" / "config.toml").bytes;
  EXPECT_NE(config.find("data.train = ['" + path("text.txt") + "', '" + path("c4") + "']"),
            config.npos)
      << config;
}

TEST_F(CliTrain, CtrlCSavesAndSaysHowToGoOn) {
  Child child(start("run") + " train.steps=1000000 train.save_every=1000000", folder / "err");
  wait_for([&] { return fs::exists(folder / "run" / "metrics.jsonl") && !losses("run").empty(); });
  child.send(SIGINT);
  EXPECT_EQ(WEXITSTATUS(child.wait()), 128 + SIGINT);
  const std::string err = read_file(folder / "err").bytes;
  EXPECT_NE(
      err.find("stopping after the operation at hand; once more ends at once, without saving\n"),
      err.npos)
      << err;
  EXPECT_NE(err.find("; go on with 'perceiver train --resume " + path("run") + "'\n"), err.npos)
      << err;

  const Result result = run("train --resume " + path("run") + " train.steps=1");
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.err.find("going on after step "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("all 1 steps are done; train.steps=N makes it more\n"),
            std::string::npos);
}

// A step of so many small batches takes hours.
TEST_F(CliTrain, CtrlCEndsInTheMiddleOfAStep) {
  Child child(start("run") + " train.batch=1000000 train.accumulate=1000000", folder / "err");
  wait_for([&] { return fs::exists(folder / "run" / "metrics.jsonl"); });
  child.send(SIGTERM);
  EXPECT_EQ(WEXITSTATUS(child.wait()), 128 + SIGTERM);
  const std::string err = read_file(folder / "err").bytes;
  EXPECT_TRUE(
      err.ends_with("stopped in the first step, with nothing to save; go on with "
                    "'perceiver train --resume " +
                    path("run") + "'\n"))
      << err;
}

// Both signals arrive before the program can do anything about the first.
TEST_F(CliTrain, ASecondSignalEndsAtOnceWithoutSaving) {
  Child child(start("run") + " train.steps=1000000 train.save_every=1000000", folder / "err");
  wait_for([&] { return fs::exists(folder / "run" / "metrics.jsonl") && !losses("run").empty(); });
  child.send(SIGSTOP);
  child.send(SIGINT);
  child.send(SIGTERM);
  child.send(SIGCONT);
  EXPECT_GT(WEXITSTATUS(child.wait()), 128);
  EXPECT_FALSE(fs::exists(folder / "run" / "last"));
  const std::string err = read_file(folder / "err").bytes;
  EXPECT_EQ(err.find("stopped and saved"), err.npos) << err;
}

TEST_F(CliTrain, TheFirstStepHasALineAndTheRestEveryLogEvery) {
  const Result result = run(start("run") + " train.steps=9 train.log_every=4 train.eval_every=0");
  EXPECT_EQ(result.code, 0);
  std::string steps;
  std::istringstream lines(result.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("step ") && line.find("held out") == line.npos) {
      EXPECT_LE(line.size(), 100u) << line;
      EXPECT_TRUE(line.ends_with(" left")) << line;
      steps += line.substr(5, line.find('/') - 5) + " ";
    }
  }
  EXPECT_EQ(steps, "1 4 8 9 ");
}

// On a terminal 60 columns wide, which util-linux's script provides.
TEST_F(CliTrain, OnATerminalTheLineIsRewrittenAndFits) {
  if (std::system("command -v script >/dev/null") != 0) GTEST_SKIP() << "needs script(1)";
  const std::string command = "stty cols 60; " + std::string(std::getenv("PERCEIVER_PROGRAM")) +
                              " " + start("run") + " train.steps=400 train.eval_every=0";
  const std::string recorded = path("terminal");
  ASSERT_EQ(std::system(("script -qec '" + command + "' /dev/null >" + recorded).c_str()), 0);
  const std::string text = read_file(recorded).bytes;
  EXPECT_NE(text.find("\033[K"), text.npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line, '\r');) {
    if (line.starts_with("step ") && line.find("held out") == line.npos) {
      EXPECT_LT(line.substr(0, line.find('\033')).size(), 60u) << line;
    }
  }
}

TEST_F(CliTrain, ARunIsResumedFromAnyFolder) {
  const std::string here = "cd " + folder.string() + " &&";
  const fs::path program = fs::absolute(std::getenv("PERCEIVER_PROGRAM"));
  const auto in_folder = [&](const std::string& arguments) {
    return std::system(
        (here + " " + program.string() + " " + arguments + " >/dev/null 2>&1").c_str());
  };
  ASSERT_EQ(in_folder("train tiny.toml --data text.txt --threads 1 -o run train.steps=5"), 0);
  const Result result = run("train --threads 1 --resume " + path("run") + " train.steps=7");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(read_file(folder / "run" / "config.toml").bytes.find("['" + path("text.txt") + "']"),
            std::string::npos);
}

// Ten million examples of this model do not fit any machine; so many small batches of one do.
TEST_F(CliTrain, ARunThatDoesNotFitInMemoryIsRefusedBeforeItStarts) {
  const Result result = run(start("run") + " -q train.batch=10000000");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.err.starts_with("perceiver: a step of 10000000 examples at once takes about "))
      << result.err;
  EXPECT_NE(result.err.find("; train.accumulate="), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST_F(CliTrain, TheModelItBeginsWithIsOnTheFirstLine) {
  ASSERT_EQ(run(start("first") + " train.steps=1").code, 0);
  const Result result = run(start("second") + " train.steps=1 --from " + path("first"));
  EXPECT_EQ(result.code, 0);
  const std::string line = result.err.substr(0, result.err.find('\n'));
  EXPECT_NE(line.find(", new model, weights from " + path("first") + ","), line.npos) << line;
}

TEST_F(CliTrain, ACheckpointThatWasCutShortIsReportedAndTheOneBeforeItUsed) {
  ASSERT_EQ(run(start("run") + " train.steps=10").code, 0);
  const fs::path state = folder / "run" / "last" / "state.safetensors";
  fs::resize_file(state, 100);
  const Result result = run("train --resume " + path("run"));
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.err.find(state.string() + ": has 100 bytes, "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("; taking " + path("run/previous") + " instead\n"), std::string::npos);
  EXPECT_NE(result.err.find("going on after step 5\n"), std::string::npos);
  EXPECT_EQ(result.out, path("run") + "\n");
}

// A limit on the size of files stands in for a full disk: the write fails in the same place.
TEST_F(CliTrain, WhenTheDiskIsFullTheCheckpointsBeforeStay) {
  ASSERT_EQ(run(start("run") + " train.steps=10").code, 0);
  const std::string before = read_file(folder / "run" / "last" / "state.safetensors").bytes;
  const Result result =
      run("train -q --resume " + path("run") + " train.steps=20", "trap '' XFSZ; ulimit -f 40;");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.err.starts_with("perceiver: " + path("run/.new/")) &&
              result.err.ends_with(": cannot write: File too large; the checkpoint could not be "
                                   "saved, those before it are untouched\n"))
      << result.err;
  EXPECT_EQ(read_file(folder / "run" / "last" / "state.safetensors").bytes, before);
  EXPECT_FALSE(fs::exists(folder / "run" / ".new"));
  EXPECT_EQ(run("train -q --resume " + path("run")).code, 0);
}

TEST_F(CliTrain, ARunIsAModelThatEveryVerbReads) {
  ASSERT_EQ(run(start("run") + " train.steps=40").code, 0);
  for (const char* name : {"config.toml", "run.json", "metrics.jsonl", "best/config.json"}) {
    EXPECT_TRUE(fs::exists(folder / "run" / name)) << name;
  }
  const Json about = Json::parse(read_file(folder / "run" / "run.json").bytes);
  EXPECT_NE(about["command"].get<std::string>().find(" train "), std::string::npos);
  EXPECT_EQ(about["seed"], 0);
  EXPECT_EQ(run("inspect " + path("run")).code, 0);
  EXPECT_EQ(run("convert " + path("run") + " " + path("converted")).code, 0);

  // As the run itself measured it at its last step.
  const Result result = run("eval " + path("run") + " --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json figures = Json::parse(result.out);
  EXPECT_EQ(figures["examples"], 6);
  EXPECT_NEAR(figures["loss"].get<double>(), losses("run").at("eval40"), 1e-5);
  const Result elsewhere = run("eval " + path("converted") + " --data " + path("text.txt"));
  EXPECT_EQ(elsewhere.code, 0) << elsewhere.err;
  EXPECT_TRUE(elsewhere.out.starts_with("  examples ")) << elsewhere.out;
  EXPECT_NE(elsewhere.out.find(" 60\n  bits a byte "), std::string::npos) << elsewhere.out;
  EXPECT_TRUE(elsewhere.out.ends_with(" %\n")) << elsewhere.out;
}

TEST_F(CliTrain, MistakesAreOneLine) {
  const std::string config = path("tiny.toml"), data = " --data " + path("text.txt");
  expect_complaint("train",
                   "train needs a config, or a run to go on with: --resume RUN; see 'perceiver "
                   "train -h'");
  expect_complaint("train -q " + config,
                   "data.train names no files; give text files or folders of them with --data");
  fs::create_directories(folder / "empty");
  expect_complaint(
      "train -q " + config + " --data " + path("empty"),
      path("empty") + ": no .txt, .jsonl or .json files in this folder, nor such with .gz");
  expect_complaint("train -q " + config + data + " data.weights=[70,30]",
                   "data.weights has 2, expected one for each of the 1 paths of data.train; "
                   "data.weights=[] reads each by its size");
  write_file(folder / "cut.json.gz", gzip("{\"text\": \"a text\"}\n").substr(0, 20));
  expect_complaint(
      "train -q " + config + " --data " + path("cut.json.gz"),
      path("cut.json.gz") + ": ends after 20 bytes in the middle of its text; copy it again");
  expect_complaint("train " + config + data + " train.batches=3",
                   "command line: unknown key 'train.batches'; did you mean 'train.batch'?");
  expect_complaint("train " + config + data + " train.optimizer=sgd",
                   "command line: 'train.optimizer' must be \"lamb\" or \"adamw\", got \"sgd\"");
  expect_complaint("train --resume " + path("nowhere"),
                   path("nowhere/config.toml") + ": cannot open: No such file or directory");
  expect_complaint(
      "eval -q " + config + " -o " + path("nowhere/measured.safetensors"),
      path("nowhere/measured.safetensors") + ": there is no folder " + path("nowhere"));
  expect_complaint("eval -q " + config,
                   "data.held_out names no files; give text files or folders of them with --data");
  expect_complaint("eval -q " + config + " data.held_out_share=0.0",
                   "there are no held-out examples; name files or folders with --data");
  expect_complaint("train --resume " + path("run") + " " + config,
                   "train: got the config " + config + " and --resume " + path("run") +
                       ", expected one of them: a run has its own config");
  expect_complaint("train -q " + config + data + " data.tokenizer=none.model",
                   "data.tokenizer: there is no file 'none.model'; 'perceiver data sentencepiece "
                   "TEXTS -o none.model' makes one of your texts");
  expect_complaint("data sentencepeace x",
                   "unknown verb 'sentencepeace'; did you mean "
                   "'sentencepiece'?");
}

TEST_F(CliTrain, EvalWritesTheExamplesItMeasuredAndWhatItMeasured) {
  ASSERT_EQ(run(start("run") + " train.steps=2").code, 0);
  const std::string measured = path("measured.safetensors");
  const Result result = run("eval --json " + path("run/last") + " --data " + path("text.txt") +
                            " eval.batch=1 eval.examples=3 -o " + measured);
  ASSERT_EQ(result.code, 0) << result.err;
  const Json document = Json::parse(result.out);
  EXPECT_EQ(document["output"], measured);
  const TensorMap arrays = read_safetensors(measured).tensors;
  EXPECT_EQ(arrays.count("3.ids"), 0u);
  double bits = 0.0, bytes = 0.0;
  for (const std::string batch : {"0", "1", "2"}) {
    const Tensor ids = arrays.at(batch + ".ids"), targets = arrays.at(batch + ".targets");
    constexpr int64_t kMask = 3, kNoTarget = -100;
    EXPECT_EQ(ids.eq(kMask).sum().item<int64_t>(), targets.ne(kNoTarget).sum().item<int64_t>());
    const Tensor sum_and_weight = arrays.at(batch + ".measure.bits_per_byte");
    bits += sum_and_weight[0].item<double>();
    bytes += sum_and_weight[1].item<double>();
  }
  EXPECT_NEAR(bits / bytes, document["bits_per_byte"], 1e-9);
}

TEST_F(CliTrain, SentencePieceIsTrainedAndTrainedOn) {
  const Result made = run("data sentencepiece " + path("text.txt") + " -o " + path("spiece.model") +
                          " --vocabulary 36");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, path("spiece.model") + "\n");
  const Result trained = run(start("run") + " train.steps=20 model.vocabulary_size=36 " +
                             "data.tokenizer=" + path("spiece.model"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(fs::exists(folder / "run" / "last" / "spiece.model"));
  fs::remove(folder / "spiece.model");
  EXPECT_EQ(run("eval -q " + path("run/last") + " --data " + path("text.txt")).code, 0);
}

}  // namespace
}  // namespace perceiver
