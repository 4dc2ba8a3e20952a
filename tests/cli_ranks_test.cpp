// Training by several processes, driven as a user would: started by the program itself and as
// launchers do, killed, stopped, and resumed by others.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "tests/child.h"
#include "tests/logged_losses.h"
#include "tests/program.h"
#include "tests/tiny_training.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class CliRanks : public testing::Test {
 protected:
  void SetUp() override {
    write_tiny_training(folder, R"(
learning_rate = 0.01
steps = 40
batch = 6
log_every = 1
eval_every = 10
save_every = 5
)");
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string start(const std::string& run) const {
    return "train " + path("tiny.toml") + " --data " + path("text.txt") +
           " --threads 1 --loader-threads 1 -o " + path(run) + " ";
  }
  std::map<std::string, double> losses(const std::string& run) const {
    return logged_losses(folder / run);
  }
  void expect_near(const std::string& run, const std::string& other) const {
    const auto a = losses(run), b = losses(other);
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [step, loss] : a) EXPECT_NEAR(loss, b.at(step), 1e-6 * loss) << step;
  }

  fs::path folder = fs::path(testing::TempDir()) / ("cli_ranks_" + std::to_string(getpid()));
};

// As torchrun has it: rank `rank` of two, at a port of this test's own.
std::string as_rank_of_two(int rank, const std::string& program_and_arguments) {
  const std::string port = std::to_string(20000 + getpid() % 10000);
  return "RANK=" + std::to_string(rank) +
         " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port + " " + program_and_arguments;
}

std::string program() { return std::getenv("PERCEIVER_PROGRAM"); }

TEST_F(CliRanks, TwoLogTheLossesOfOneWithTwoParts) {
  const Result two = run(start("two") + "--ranks 2");
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(two.out, path("two") + "\n");
  EXPECT_NE(two.err.find("cpu, 2 ranks"), std::string::npos) << two.err;
  ASSERT_EQ(run(start("one") + "train.accumulate=2").code, 0);
  std::map<std::string, double> a = losses("two"), b = losses("one");
  // What is held out is measured in other batches.
  std::erase_if(a, [](const auto& line) { return line.first.starts_with("eval"); });
  std::erase_if(b, [](const auto& line) { return line.first.starts_with("eval"); });
  EXPECT_EQ(a.size(), 40u);
  EXPECT_EQ(a, b);
  expect_near("two", "one");
}

TEST_F(CliRanks, StartedByALauncherTheyFindOneAnother) {
  const std::string words = start("two");
  const Result first =
      run(words, as_rank_of_two(1, program() + " " + words + "2>" + path("rank1.err") + " & ") +
                     as_rank_of_two(0, ""));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, path("two") + "\n");
  EXPECT_EQ(read_file(path("rank1.err")).bytes, "");
  EXPECT_EQ(run(start("one") + "train.accumulate=2").code, 0);
  expect_near("two", "one");
}

// The undisturbed run's losses come out, whoever is killed, whenever that is, and however many go
// on. (Dropout is drawn part by part, and these have different parts.)
TEST_F(CliRanks, ARankThatIsKilledEndsTheOthersAndHarmsNothing) {
  const std::string without = "model.encoder.self_attend.dropout=0.0 train.steps=60";
  ASSERT_EQ(run(start("undisturbed") + without).code, 0);
  const char* times = std::getenv("PERCEIVER_KILLS");
  const int kills = times != nullptr ? std::atoi(times) : 3;
  std::mt19937 random(1);
  for (int killed = 0, ranks = 2; killed < kills;) {
    const bool begun = fs::exists(folder / "killed" / "config.toml");
    const std::string words =
        begun ? "train --resume " + path("killed") + " --threads 1 --loader-threads 1 "
              : start("killed") + without;
    Child child(words + " --ranks " + std::to_string(ranks), path("err"));
    wait_for([&] { return !child.running() || std::ssize(children_of(child.pid())) == ranks; });
    const std::vector<pid_t> of = children_of(child.pid());
    const auto until = Clock::now() + std::chrono::milliseconds(200 + random() % 2000);
    wait_for([&] { return !child.running() || Clock::now() > until; });
    const size_t victim = random() % ranks;
    if (!child.running() || of.size() <= victim) {  // too late: the run is done
      fs::remove_all(folder / "killed");
      continue;
    }
    kill(of[victim], SIGKILL);
    const auto at = Clock::now();
    const int status = child.wait();
    EXPECT_LT(Clock::now() - at, std::chrono::seconds(10));
    const std::string err = read_file(path("err")).bytes;
    if (WEXITSTATUS(status) == 0) {  // too late: it had nothing left to do
      EXPECT_NE(err.find("step 60/60  held out"), std::string::npos) << err;
      fs::remove_all(folder / "killed");
      continue;
    }
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_NE(err.find("perceiver: rank " + std::to_string(victim) +
                       " was killed, as the system "
                       "does when memory runs out\n"),
              std::string::npos)
        << err;
    ++killed;
    ranks = 2 + killed % 2;
  }
  const std::string killed = path("killed");
  for (const char* ranks : {"", " --ranks 2", " --ranks 3"}) {
    fs::remove_all(folder / "copy");
    fs::copy(killed, folder / "copy", fs::copy_options::recursive);
    const Result rest = run("train --resume " + path("copy") + " --threads 1" + ranks);
    ASSERT_EQ(rest.code, 0) << rest.err;
    expect_near("copy", "undisturbed");
  }
}

TEST_F(CliRanks, AnInterruptSavesOnce) {
  Child child(start("run") + "--ranks 2 train.steps=100000", path("err"));
  wait_for([&] { return fs::exists(folder / "run" / "last"); });
  child.send(SIGINT);
  EXPECT_EQ(WEXITSTATUS(child.wait()), 130);
  const std::string err = read_file(path("err")).bytes;
  const auto count = [&](const std::string& text) {
    int64_t found = 0;
    for (size_t at = 0; (at = err.find(text, at)) != err.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("stopping after the operation at hand"), 1) << err;
  EXPECT_EQ(count("stopped and saved after step"), 1) << err;
  EXPECT_EQ(count("perceiver: "), 0) << err;
}

TEST_F(CliRanks, ARankThatHangsEndsTheRunAtTheTimeOut) {
  Child child(start("run") + "--ranks 2 --rank-timeout 2 train.steps=100000", path("err"));
  wait_for([&] { return fs::exists(folder / "run" / "last"); });
  kill(children_of(child.pid()).at(1), SIGSTOP);
  const auto at = Clock::now();
  EXPECT_EQ(WEXITSTATUS(child.wait()), 1);
  EXPECT_LT(Clock::now() - at, std::chrono::seconds(60));
  const std::string err = read_file(path("err")).bytes;
  EXPECT_NE(err.find("perceiver: rank 1 "), std::string::npos) << err;
}

TEST_F(CliRanks, AnErrorNamesItsRankOnce) {
  const Result failed = run(start("run") + "--ranks 2 train.batch=1");
  EXPECT_EQ(failed.code, 1);
  const std::string what = ": train.batch (1) is less than the 2 ranks that share it\n";
  EXPECT_TRUE(failed.err.ends_with("perceiver: rank 0" + what) ||
              failed.err.ends_with("perceiver: rank 1" + what))
      << failed.err;
  EXPECT_EQ(failed.err.find(what), failed.err.rfind(what));
}

TEST_F(CliRanks, DifferentConfigsAreOneLineEach) {
  const std::string words = start("two");
  const Result first = run(
      words + "train.batch=4",
      as_rank_of_two(1, program() + " " + words + "train.batch=8 2>" + path("rank1.err") + " & ") +
          as_rank_of_two(0, ""));
  const std::string line =
      "perceiver: rank 1 has 'train.batch = 8', rank 0 has 'train.batch = 4'; start all ranks with "
      "the same "
      "program, config and settings\n";
  EXPECT_EQ(first.code, 1);
  EXPECT_EQ(first.err, line);
  wait_for([&] { return read_file(path("rank1.err")).bytes.ends_with("\n"); });
  EXPECT_EQ(read_file(path("rank1.err")).bytes, line);
}

TEST_F(CliRanks, WrongEnvironmentsAreOneLine) {
  const auto complaint = [&](const std::string& environment, const std::string& options = "") {
    const Result result = run(start("run") + options, environment);
    EXPECT_EQ(result.code, 1) << environment;
    return result.err;
  };
  EXPECT_EQ(complaint("WORLD_SIZE=2"),
            "perceiver: environment: WORLD_SIZE is 2 and RANK is not set; expected both, as "
            "torchrun sets them, or none\n");
  EXPECT_EQ(
      complaint("RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1", "--rank-timeout 1"),
      "perceiver: rank 1: 127.0.0.1:1 does not answer within 1 s; is rank 0 running, and "
      "does MASTER_ADDR name its machine?\n");
  EXPECT_EQ(complaint("RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 ", "--ranks 3"),
            "perceiver: --ranks is 3, and torchrun has started 2; leave --ranks out\n");
  EXPECT_EQ(complaint(as_rank_of_two(0, ""), "--rank-timeout 1"),
            "perceiver: rank 1 of 2 has not come within 1 s; were all started?\n");

  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  socklen_t size = sizeof(place);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&place), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  getsockname(taken, reinterpret_cast<sockaddr*>(&place), &size);
  const std::string port = std::to_string(ntohs(place.sin_port));
  EXPECT_EQ(complaint("RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port),
            "perceiver: rank 0: cannot listen on port " + port +
                "; set MASTER_PORT to a free one, the same for all ranks\n");
  close(taken);
}

// What torchrun says of restarts.
TEST_F(CliRanks, ARestartedRunGoesOn) {
  const std::string restarts = "RANK=0 WORLD_SIZE=1 TORCHELASTIC_MAX_RESTARTS=2 ";
  const std::string port = "MASTER_PORT=" + std::to_string(20000 + getpid() % 10000) + " ";
  EXPECT_EQ(run("train " + path("tiny.toml") + " --data " + path("text.txt"), restarts + port).err,
            "perceiver: torchrun may start this run anew, which must find its folder; name it with "
            "-o\n");
  EXPECT_EQ(run(start("run") + "train.steps=20", restarts + port).code, 0);
  const Result again =
      run(start("run") + "train.steps=40", restarts + port + "TORCHELASTIC_RESTART_COUNT=1 ");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("going on after step 20"), std::string::npos) << again.err;
}

}  // namespace
}  // namespace perceiver
