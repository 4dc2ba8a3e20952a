#include "perceiver/train/sweep_folder.h"

#include <nlohmann/json.hpp>

#include "perceiver/core/error_test.h"
#include "perceiver/train/run_folder.h"
#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

SweptRun measured(double value, RunState state = RunState::kFinished) {
  SweptRun run;
  run.state = state;
  run.value = value;
  return run;
}

TEST(Ranking, IsByTheMeasureInItsDirectionAndTheFirstOfEquals) {
  const SweptRun runs[] = {measured(0.5), measured(0.7), measured(0.5), measured(0.3)};
  EXPECT_EQ(ranking(runs, true), (std::vector<size_t>{3, 0, 2, 1}));
  EXPECT_EQ(ranking(runs, false), (std::vector<size_t>{1, 0, 2, 3}));
}

TEST(Ranking, FailedRunsAndThoseWithNothingMeasuredComeLast) {
  const SweptRun runs[] = {{}, measured(0.1, RunState::kFailed), measured(0.9, RunState::kStopped)};
  EXPECT_EQ(ranking(runs, true), (std::vector<size_t>{2, 0, 1}));
}

class SweepFolderTest : public TrainTest {
 protected:
  void create(const std::string& name = "sweep") const {
    const std::string config = tiny_config().bytes;
    const SweepFolder::NewRun runs[] = {{"batch=4", {{"train.batch", "4"}}, config, "{}"},
                                        {"batch=8", {{"train.batch", "8"}}, config, "{}"}};
    const SweepRecord record{.config = "tiny.toml",
                             .grid = {"train.batch=4,8"},
                             .overrides = {"train.steps=3"},
                             .measure = {"bits_per_byte", true},
                             .shown = {"bits a byte", Unit::kNumber},
                             .jobs = 2,
                             .threads = 3,
                             .device = "cpu",
                             .command = "perceiver sweep",
                             .version = "0"};
    SweepFolder::create(folder / name, record, runs);
  }
};

TEST_F(SweepFolderTest, IsReadAsItWasMade) {
  create();
  EXPECT_TRUE(SweepFolder::is_one(folder / "sweep"));
  EXPECT_FALSE(SweepFolder::is_one(folder));
  EXPECT_EQ(sorted_entries(folder), (std::vector<fs::path>{folder / "sweep", folder / "text.txt"}));
  const SweepFolder sweep(folder / "sweep");
  EXPECT_EQ(sweep.record().grid, std::vector<std::string>{"train.batch=4,8"});
  EXPECT_EQ(sweep.record().overrides, std::vector<std::string>{"train.steps=3"});
  EXPECT_EQ(sweep.record().jobs, 2);
  EXPECT_EQ(sweep.record().threads, 3);
  EXPECT_EQ(sweep.record().shown.name, "bits a byte");
  ASSERT_EQ(sweep.runs().size(), 2u);
  EXPECT_EQ(sweep.runs()[1].name, "batch=8");
  EXPECT_EQ(sweep.runs()[1].settings, (Combination{{"train.batch", "8"}}));
  EXPECT_EQ(sweep.runs()[1].state, RunState::kWaiting);
  EXPECT_EQ(sweep.best(), nullptr);
}

TEST_F(SweepFolderTest, ReadsBackWhatEachRunHasReached) {
  create();
  SweepFolder sweep(folder / "sweep");
  RunFolder run = RunFolder::resume(folder / "sweep" / "batch=8", 0);
  run.log(1, "train", {{"loss", 9.0}, {"bits_per_byte", 0.001}});  // no held-out measure
  run.log(2, "eval", {{"bits_per_byte", 2.5}});
  run.log(3, "eval", {{"bits_per_byte", 2.75}});
  run.log(4, "eval", {{"bits_per_byte", std::nan("")}});
  const fs::path metrics = folder / "sweep" / "batch=8" / "metrics.jsonl";
  write_file(metrics, read_file(metrics).bytes + "{\"step\": 5, \"kind\": \"ev");
  sweep.look_at(sweep.runs()[1]);
  EXPECT_EQ(sweep.runs()[1].steps, 4);
  EXPECT_EQ(sweep.runs()[1].value, 2.5);
}

TEST_F(SweepFolderTest, ResultsAreKeptAndBestIsALinkToTheBestRun) {
  create();
  {
    SweepFolder sweep(folder / "sweep");
    sweep.runs()[0] = {.name = "batch=4", .settings = {{"train.batch", "4"}}, .value = 2.0};
    sweep.write_results();
    EXPECT_EQ(fs::read_symlink(folder / "sweep" / "best"), "batch=4");
    sweep.runs()[1].state = RunState::kFinished;
    sweep.runs()[1].value = 1.5;
    sweep.runs()[1].seconds = 60.0;
    sweep.runs()[0].state = RunState::kFailed;
    sweep.runs()[0].error = "no \xff UTF-8";
    sweep.write_results();
  }
  EXPECT_EQ(fs::read_symlink(folder / "sweep" / "best"), "batch=8");
  const Json json = Json::parse(read_file(folder / "sweep" / "results.json").bytes);
  EXPECT_EQ(json["measure"], "bits_per_byte");
  EXPECT_EQ(json["best"], "batch=8");
  EXPECT_EQ(json["runs"][0]["settings"]["train.batch"], 8);
  EXPECT_EQ(json["runs"][0]["state"], "finished");
  EXPECT_EQ(json["runs"][1]["error"], "no \xef\xbf\xbd UTF-8");
  const SweepFolder again(folder / "sweep");
  EXPECT_EQ(again.runs()[0].state, RunState::kWaiting);  // is tried again
  EXPECT_EQ(again.runs()[1].state, RunState::kFinished);
  EXPECT_EQ(again.runs()[1].seconds, 60.0);
}

TEST_F(SweepFolderTest, MistakesAreNamed) {
  const std::string place = (folder / "sweep").string();
  EXPECT_EQ(error_of([&] { SweepFolder sweep(folder / "sweep"); }),
            place + "/sweep.json: cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { create("text.txt"); }),
            (folder / "text.txt").string() +
                ": is there already, expected a new or empty folder, or that of a sweep");
  EXPECT_EQ(error_of([&] { create("text.txt/sweep"); }),
            (folder / "text.txt/sweep").string() + ": cannot create: Not a directory");
  fs::create_directories(folder / "sweep");  // an empty one will do
  create();
  EXPECT_EQ(error_of([&] { create(); }),
            place + ": is there already, expected a new or empty folder, or that of a sweep");
  {
    const SweepFolder sweep(folder / "sweep");
    EXPECT_EQ(error_of([&] { SweepFolder another(folder / "sweep"); }),
              place + ": another sweep is at work in it; wait for its end, or stop it");
  }
  const std::string good = read_file(folder / "sweep" / "sweep.json").bytes;
  for (size_t bytes = 0; bytes + 3 < good.size(); bytes += 7) {
    write_file(folder / "sweep" / "sweep.json", good.substr(0, bytes));
    const std::string error = error_of([&] { SweepFolder sweep(folder / "sweep"); });
    EXPECT_TRUE(error.starts_with(place + "/sweep.json: is damaged: ")) << error;
  }
  Json outside = Json::parse(good);
  outside["runs"][0]["name"] = "a=1/../..";
  write_file(folder / "sweep" / "sweep.json", outside.dump());
  EXPECT_EQ(error_of([&] { SweepFolder sweep(folder / "sweep"); }),
            place + "/sweep.json: is damaged: 'a=1/../..' is no name of a run");
}

}  // namespace
}  // namespace perceiver
