// Sweeps driven through a shell: every combination trained, one that fails, killed, interrupted,
// and gone on with.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "perceiver/core/lines.h"
#include "perceiver/tasks/glue/files_test.h"
#include "tests/child.h"
#include "tests/program.h"
#include "tests/tiny_training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class CliSweep : public testing::Test {
 protected:
  void SetUp() override {
    write_tiny_training(folder, R"(
optimizer = "adamw"
learning_rate = 0.01
steps = 30
batch = 4
log_every = 1
eval_every = 10
save_every = 5
)");
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string start(const std::string& words) const {
    return "sweep " + path("tiny.toml") + " --data " + path("text.txt") + " --threads 1 -o " +
           path("sweep") + " " + words;
  }

  // What metrics.jsonl of a run says of each step.
  std::map<std::string, double> losses(const std::string& run) const {
    std::map<std::string, double> losses;
    for (const std::string& line : lines_of(read_file(folder / run / "metrics.jsonl").bytes)) {
      const Json json = Json::parse(line);
      losses[json["kind"].get<std::string>() + json["step"].dump()] = json["loss"];
    }
    return losses;
  }

  int64_t steps_of(const std::string& run) const {
    const fs::path metrics = folder / run / "metrics.jsonl";
    return fs::exists(metrics) ? std::ssize(lines_of(read_file(metrics).bytes)) : 0;
  }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_sweep_" + std::to_string(getpid()));
};

// The lines of a table as words.
std::vector<std::vector<std::string>> words_in(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : lines_of(text)) {
    std::istringstream stream(line);
    rows.emplace_back(std::istream_iterator<std::string>(stream),
                      std::istream_iterator<std::string>());
  }
  return rows;
}

TEST_F(CliSweep, TrainsEveryCombinationAndRanksThem) {
  const Result result = run(start("--jobs 2 train.batch=2,4 train.learning_rate=1e-4,1e-2"));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find(path("sweep") + ": 4 runs; 2 runs at once, 1 thread each\n"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("batch=2,learning_rate=1e-4: started\n"), std::string::npos);
  EXPECT_NE(result.err.find(" after 30 steps, 0:"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("; 1 run left, about "), std::string::npos) << result.err;

  const auto rows = words_in(result.out);
  ASSERT_EQ(rows.size(), 6u) << result.out;
  EXPECT_EQ(rows[0], (std::vector<std::string>{"batch", "learning_rate", "bits", "a", "byte",
                                               "steps", "time"}));
  EXPECT_EQ(rows[5], std::vector<std::string>{path("sweep/best")});
  const auto bits = [&](size_t row) { return std::stod(rows[row][2]); };
  for (size_t row = 2; row < 5; ++row) EXPECT_LE(bits(row - 1), bits(row)) << result.out;
  EXPECT_EQ(rows[1][3], "30");
  const std::string best = "batch=" + rows[1][0] + ",learning_rate=" + rows[1][1];
  EXPECT_EQ(fs::read_symlink(folder / "sweep" / "best"), best);

  // Each is as a run of its own, which the link leads to.
  const Result alone =
      run("train " + path("tiny.toml") + " --data " + path("text.txt") + " --threads 1 -o " +
          path("alone") + " train.batch=" + rows[1][0] + " train.learning_rate=" + rows[1][1]);
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(losses("alone"), losses("sweep/best"));
  EXPECT_EQ(read_file(folder / "alone" / "config.toml").bytes,
            read_file(folder / "sweep" / "best" / "config.toml").bytes);
  const Result measured = run("eval " + path("sweep") + " --threads 1 --json");
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_NEAR(Json::parse(measured.out)["bits_per_byte"].get<double>(), bits(1), 5e-4);

  const Json record = Json::parse(read_file(folder / "sweep" / "sweep.json").bytes);
  EXPECT_EQ(record["config"], path("tiny.toml"));
  EXPECT_EQ(record["grid"],
            (std::vector<std::string>{"train.batch=2,4", "train.learning_rate=1e-4,1e-2"}));
  const std::string version = "perceiver " + record["perceiver"].get<std::string>() + "\n";
  EXPECT_TRUE(run("version").out.starts_with(version)) << version;

  // Again there is nothing to do; as JSON, and nothing else.
  const Result again = run(start("--json -q train.batch=2,4 train.learning_rate=1e-4,1e-2"));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.err, "");
  EXPECT_EQ(again.out, read_file(folder / "sweep" / "results.json").bytes);
  const Json json = Json::parse(again.out);
  EXPECT_EQ(json["config"], path("tiny.toml"));
  EXPECT_EQ(json["measure"], "bits_per_byte");
  EXPECT_EQ(json["best"], best);
  ASSERT_EQ(json["runs"].size(), 4u);
  EXPECT_EQ(json["runs"][0]["name"], best);
  EXPECT_EQ(json["runs"][0]["settings"]["train.batch"], std::stoi(rows[1][0]));
  EXPECT_EQ(json["runs"][0]["steps"], 30);
  EXPECT_EQ(json["runs"][0]["state"], "finished");
  EXPECT_NEAR(json["runs"][0]["value"].get<double>(), bits(1), 5e-5);
}

// A rate at which the weights are no numbers after the first step.
TEST_F(CliSweep, ARunThatFailsStopsNoOther) {
  const Result result = run(start("train.learning_rate=1e30,1e-2 train.steps=10"));
  EXPECT_EQ(result.code, 1);
  const auto rows = words_in(result.out);
  ASSERT_EQ(rows.size(), 5u) << result.out;
  EXPECT_EQ(rows[0].back(), "state");
  EXPECT_EQ(rows[1].front(), "1e-2");
  EXPECT_EQ(rows[1].back(), "finished");
  EXPECT_EQ(rows[2].front(), "1e30");
  EXPECT_EQ(rows[2].back(), "failed");
  const std::string failure = lines_of(result.out)[3];
  EXPECT_TRUE(failure.starts_with("learning_rate=1e30: step 2: the loss is ")) << failure;
  EXPECT_EQ(lines_of(result.out)[4], path("sweep/best"));
  EXPECT_TRUE(result.err.ends_with("perceiver: 1 of 2 runs failed; 'perceiver sweep --resume " +
                                   path("sweep") + "' tries them again\n"))
      << result.err;
  EXPECT_NE(result.err.find("learning_rate=1e30: failed: step 2: the loss is "), std::string::npos);
  const Result again = run("sweep -q --json --resume " + path("sweep"));
  EXPECT_EQ(again.code, 1);
  const Json json = Json::parse(again.out);
  EXPECT_EQ(json["best"], "learning_rate=1e-2");
  EXPECT_EQ(json["runs"][1]["state"], "failed");
  EXPECT_EQ("learning_rate=1e30: " + json["runs"][1]["error"].get<std::string>(), failure);
}

TEST_F(CliSweep, KilledItComesToTheSameLosses) {
  const std::string words = "--jobs 2 train.batch=2,4 train.seed=0,1 train.steps=150";
  // Some way into the first runs, then into the others.
  for (const char* watched : {"sweep/batch=2,seed=1", "sweep/batch=4,seed=1"}) {
    Child child(start(words));
    wait_for([&] { return !child.running() || steps_of(watched) > 40; });
    ASSERT_TRUE(child.running());
    child.send(SIGKILL);
    child.wait();
  }
  const Result result = run(start(words + " -q"));
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* batch : {"2", "4"}) {
    for (const char* seed : {"0", "1"}) {
      const std::string name = fmt::format("batch={},seed={}", batch, seed);
      ASSERT_EQ(
          run(fmt::format("train -q {} --data {} --threads 1 -o {} train.batch={} "
                          "train.seed={} train.steps=150",
                          path("tiny.toml"), path("text.txt"), path("alone/" + name), batch, seed))
              .code,
          0);
      EXPECT_EQ(losses("sweep/" + name), losses("alone/" + name)) << name;
    }
  }
}

TEST_F(CliSweep, CtrlCReachesTheRunsWhichSave) {
  const auto begun = [&](const char* run) { return steps_of(run) > 0; };
  Child child(start("--jobs 2 train.batch=2,4,8 train.steps=1000000 train.save_every=1000000"),
              folder / "err");
  wait_for([&] { return begun("sweep/batch=2") && begun("sweep/batch=4"); });
  const auto before = std::chrono::steady_clock::now();
  child.send(SIGINT);
  EXPECT_EQ(WEXITSTATUS(child.wait()), 128 + SIGINT);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  const std::string err = read_file(folder / "err").bytes;
  EXPECT_TRUE(err.ends_with("stopped, 0 of 3 runs finished; go on with 'perceiver sweep --resume " +
                            path("sweep") + "'\n"))
      << err;
  EXPECT_NE(err.find("batch=2: stopped after "), std::string::npos) << err;
  for (const char* run : {"sweep/batch=2", "sweep/batch=4"}) {
    EXPECT_TRUE(fs::exists(folder / run / "last" / "state.safetensors")) << run;
  }
  EXPECT_NE(read_file(folder / "sweep" / "batch=2.log").bytes.find("stopped and saved after step "),
            std::string::npos);
}

// The paper's grid of GLUE (App. F.4), of a small model on a few examples.
TEST_F(CliSweep, ThePapersGridIsOneCommand) {
  write_glue(folder / "GLUE", GlueLayout::kTsv, 20);
  const Result result =
      run("sweep glue_mini --threads 1 --data " + path("GLUE") + " -o " + path("glue") +
          " train.batch=16,32,64 train.learning_rate=1e-4,5e-5,2e-5,1e-5"
          " model.num_inputs=16 model.encoder.num_latents=4"
          " model.encoder.self_attends_per_block=1 train.steps=1");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).size(), 1u + 12u + 1u) << result.out;
  EXPECT_TRUE(fs::exists(folder / "glue" / "batch=64,learning_rate=2e-5" / "last"));
  EXPECT_EQ(run("inspect " + path("glue")).code, 0);
}

TEST_F(CliSweep, MistakesAreOneLine) {
  expect_complaint("sweep",
                   "sweep needs a config and settings with alternatives, or a sweep to go on with: "
                   "--resume FOLDER; see 'perceiver sweep -h'");
  expect_complaint(start("train.batch=4"),
                   "command line: no setting has alternatives, expected some such as "
                   "train.batch=16,32; for one run there is 'perceiver train'");
  expect_complaint(
      start("--seed 1 train.seed=1,2"),
      "command line: 'train.seed' is given twice, expected all its values in one word");
  expect_complaint("sweep -q " + path("tiny.toml") + " train.batch=1,2 -o " + path("sweep"),
                   "data.train names no files; give text files or folders of them with --data");
  expect_complaint("sweep --resume " + path("sweep") + " train.batch=1,2",
                   "sweep: got --resume " + path("sweep") +
                       " and settings, expected one of them: a sweep has its own");
  expect_complaint(start("train.batch=1,2 -o " + path("tiny.toml")),
                   "--output is given 2 times; see 'perceiver sweep -h'");
  EXPECT_FALSE(fs::exists(folder / "sweep"));
  ASSERT_EQ(run(start("train.batch=1,2 train.steps=1")).code, 0);
  expect_complaint(start("train.batch=1,3 train.steps=1"),
                   path("sweep") +
                       ": has a sweep of another config, grid or settings; go on with that one by "
                       "'perceiver sweep --resume " +
                       path("sweep") + "', or name another folder with -o");
}

}  // namespace
}  // namespace perceiver
