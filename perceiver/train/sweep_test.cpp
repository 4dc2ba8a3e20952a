#include "perceiver/train/sweep.h"

#include <signal.h>

#include "perceiver/core/error_test.h"
#include "perceiver/train/tiny_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// A script stands in for the program: it does what one run of a sweep does.
class SweepTest : public TrainTest {
 protected:
  SweepRequest request(std::vector<std::string> words) const {
    return {.config_name = "tiny",
            .config = tiny_config(),
            .overrides = {"data.train=['" + (folder / "text.txt").string() + "']"},
            .words = std::move(words),
            .folder = folder / "sweep",
            .device = "cpu",
            .command = "",
            .version = "",
            .about = [](const TrainConfig&, int64_t) { return std::string("{}"); },
            .limits = {.threads = 2, .wanted = 2}};
  }

  // `script` sees the run's folder as $3.
  SweepOptions options(const std::string& script) {
    const fs::path program = folder / "program";
    write_file(program, "#!/bin/sh\n" + script);
    fs::permissions(program, fs::perms::owner_all);
    return {.program = program.string(), .jobs = 2};
  }
};

constexpr const char* kMeasures =
    "case $3 in *batch=2) v=1.5;; *) v=2.5;; esac\n"
    "echo '{\"step\": 12, \"kind\": \"eval\", \"bits_per_byte\": '$v'}' >> $3/metrics.jsonl\n";

TEST_F(SweepTest, EveryCombinationIsARunAndTheBestIsFound) {
  EXPECT_TRUE(begin_sweep(request({"train.batch=1,2", "train.seed=0,1"})).is_new);
  SweepFolder sweep(folder / "sweep");
  int64_t started = 0;
  std::vector<int64_t> left;
  SweepOptions how = options(
      "case $3 in *batch=2,seed=1) v=1.5;; *) v=2.5;; esac\n"
      "echo '{\"step\": 12, \"kind\": \"eval\", \"bits_per_byte\": '$v'}' >> $3/metrics.jsonl\n");
  how.started = [&](const SweptRun&) { ++started; };
  how.ended = [&](const SweptRun&, const RestOfSweep& rest) { left.push_back(rest.runs); };
  EXPECT_EQ(run_all(sweep, how), 0);
  EXPECT_EQ(started, 4);
  EXPECT_EQ(left, (std::vector<int64_t>{3, 2, 1, 0}));
  for (const SweptRun& run : sweep.runs()) EXPECT_EQ(run.state, RunState::kFinished) << run.name;
  ASSERT_NE(sweep.best(), nullptr);
  EXPECT_EQ(sweep.best()->name, "batch=2,seed=1");
  EXPECT_EQ(fs::read_symlink(folder / "sweep" / "best"), "batch=2,seed=1");
  EXPECT_EQ(
      read_settings(read_file(folder / "sweep" / "batch=2,seed=1" / "config.toml"))->train()->batch,
      2);
}

TEST_F(SweepTest, AFailedRunStopsNoOtherAndIsTriedAgain) {
  begin_sweep(request({"train.batch=1,2"}));
  {
    SweepFolder sweep(folder / "sweep");
    EXPECT_EQ(
        run_all(sweep, options("case $3 in *=1) echo note >&2; echo 'perceiver: too bad' >&2; "
                               "exit 1;; esac\n" +
                               std::string(kMeasures))),
        0);
    EXPECT_EQ(sweep.runs()[0].state, RunState::kFailed);
    EXPECT_EQ(sweep.runs()[0].error, "too bad");
    EXPECT_EQ(sweep.runs()[1].state, RunState::kFinished);
  }
  SweepFolder sweep(folder / "sweep");
  int64_t started = 0;
  SweepOptions how = options(kMeasures);
  how.started = [&](const SweptRun& run) {
    ++started;
    EXPECT_EQ(run.name, "batch=1");
  };
  EXPECT_EQ(run_all(sweep, how), 0);
  EXPECT_EQ(started, 1);
  EXPECT_EQ(sweep.runs()[0].error, "");
  EXPECT_EQ(read_file(folder / "sweep" / "batch=1.log").bytes, "note\nperceiver: too bad\n");
}

TEST_F(SweepTest, ARunThatSaysNothingFailsWithHowItEnded) {
  begin_sweep(request({"train.batch=1,2,3"}));
  SweepFolder sweep(folder / "sweep");
  run_all(sweep, options("case $3 in *=1) kill -9 $$;; *=2) kill -6 $$;; esac\nexit 3\n"));
  EXPECT_EQ(sweep.runs()[0].error, "it was killed, as the system does when memory runs out");
  EXPECT_EQ(sweep.runs()[1].error, "it was ended by signal 6");
  EXPECT_EQ(sweep.runs()[2].error, "it ended with code 3");
}

TEST_F(SweepTest, ASignalIsPassedOnOnceAndNothingMoreStarts) {
  begin_sweep(request({"train.batch=1,2,3"}));
  SweepFolder sweep(folder / "sweep");
  SweepOptions how = options(
      "trap 'echo saved >&2; exit 143' TERM\n"
      "echo ready >&2\n"
      "while :; do sleep 0.01; done\n");
  const auto ready = [&](const char* name) {
    const fs::path log = folder / "sweep" / name;
    return fs::exists(log) && read_file(log).bytes == "ready\n";
  };
  how.stop = [&] { return ready("batch=1.log") && ready("batch=2.log") ? SIGTERM : 0; };
  EXPECT_EQ(run_all(sweep, how), SIGTERM);
  EXPECT_EQ(sweep.runs()[0].state, RunState::kStopped);
  EXPECT_EQ(sweep.runs()[1].state, RunState::kStopped);
  EXPECT_EQ(sweep.runs()[2].state, RunState::kWaiting);
  EXPECT_EQ(read_file(folder / "sweep" / "batch=1.log").bytes, "ready\nsaved\n");
}

TEST_F(SweepTest, TheSameAgainGoesOnAndAnotherIsRefused) {
  const std::vector<std::string> words = {"train.batch=1,2"};
  EXPECT_TRUE(begin_sweep(request(words)).is_new);
  EXPECT_FALSE(begin_sweep(request(words)).is_new);
  const std::string place = (folder / "sweep").string();
  for (const std::vector<std::string>& other :
       {std::vector<std::string>{"train.batch=1,3"}, std::vector<std::string>{"train.batch=1,2,3"},
        std::vector<std::string>{"train.batch=1,2", "train.steps=3"}}) {
    EXPECT_EQ(error_of([&] { begin_sweep(request(other)); }),
              place +
                  ": has a sweep of another config, grid or settings; go on with that one by "
                  "'perceiver sweep --resume " +
                  place + "', or name another folder with -o");
  }
}

TEST_F(SweepTest, NothingIsMadeWhereACombinationIsWrong) {
  EXPECT_EQ(error_of([&] { begin_sweep(request({"train.batch=1,0"})); }),
            "command line: 'train.batch' must be at least 1, got 0");
  EXPECT_EQ(error_of([&] { begin_sweep(request({"train.learning_rate=1e-3,0.001"})); }),
            "command line: the runs learning_rate=1e-3 and learning_rate=0.001 have the same "
            "settings");
  EXPECT_EQ(error_of([&] {
              begin_sweep(request({"train.batch=4,8", "train.accumulate=4,3"}));
            }),
            "batch=4,accumulate=3: train.batch (4) must be a multiple of train.accumulate (3)");
  EXPECT_FALSE(fs::exists(folder / "sweep"));
}

}  // namespace
}  // namespace perceiver
