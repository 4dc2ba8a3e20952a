#include "perceiver/core/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class ChildProcessTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::vector<std::string> shell(const std::string& command) const {
    return {"/bin/sh", "-c", command};
  }

  static void wait_for(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(condition());
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("child_" + std::to_string(getpid()));
  const fs::path log = folder / "log";
};

TEST_F(ChildProcessTest, HasACodeAndAddsToItsLog) {
  for (int i = 0; i < 2; ++i) {
    ChildProcess child(shell("echo out; echo oops >&2; read word || exit 3"), log);
    wait_for([&] { return child.ended().has_value(); });
    EXPECT_EQ(child.ended(), 3);
  }
  EXPECT_EQ(read_file(log).bytes, "oops\noops\n");
  EXPECT_EQ(error_of([&] { ChildProcess({"/bin/true"}, folder / "nowhere" / "log"); }),
            (folder / "nowhere" / "log").string() + ": cannot write: No such file or directory");
}

TEST_F(ChildProcessTest, HasTheVariablesThatAreSetBesideThisProcesssOwn) {
  setenv("CHILD_TEST_KEPT", "kept", 1);
  setenv("CHILD_TEST_SET", "old", 1);
  const std::string out = (folder / "out").string();
  ChildProcess child(shell("echo $CHILD_TEST_KEPT $CHILD_TEST_SET >" + out),
                     ChildProcess::Variables{{"CHILD_TEST_SET=new"}});
  wait_for([&] { return child.ended().has_value(); });
  EXPECT_EQ(child.ended(), 0);
  EXPECT_EQ(read_file(out).bytes, "kept new\n");
}

TEST_F(ChildProcessTest, AProgramThatIsNotThereEndsAsAShellSays) {
  ChildProcess child({"/nowhere/program"}, log);
  wait_for([&] { return child.ended().has_value(); });
  EXPECT_EQ(child.ended(), 127);
}

TEST_F(ChildProcessTest, GetsSignalsAndIsOutOfTheTerminalsReach) {
  ChildProcess child(shell("echo $$ >&2; exec sleep 1000"), log);
  wait_for([&] { return read_file(log).bytes.ends_with("\n"); });
  const pid_t pid = std::stoi(read_file(log).bytes);
  EXPECT_EQ(getpgid(pid), pid);
  EXPECT_FALSE(child.ended());
  child.send(SIGTERM);
  wait_for([&] { return child.ended().has_value(); });
  EXPECT_EQ(child.ended(), 128 + SIGTERM);
}

// A parent of its own is killed as nothing can be caught.
TEST_F(ChildProcessTest, DoesNotOutliveItsParent) {
  const pid_t parent = fork();
  if (parent == 0) {
    const ChildProcess child(shell("echo $$ >&2; exec sleep 1000"), log);
    pause();
    _exit(0);
  }
  wait_for([&] { return fs::exists(log) && read_file(log).bytes.ends_with("\n"); });
  const pid_t pid = std::stoi(read_file(log).bytes);
  EXPECT_EQ(kill(pid, 0), 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  // An orphan that has ended may stay in the table until someone collects it.
  const fs::path status = "/proc/" + std::to_string(pid) + "/stat";
  wait_for([&] {
    if (!fs::exists(status)) return true;
    try {
      return read_file(status).bytes.find(") Z ") != std::string::npos;
    } catch (const Error&) {
      return true;
    }
  });
}

}  // namespace
}  // namespace perceiver
