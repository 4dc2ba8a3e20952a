#include "perceiver/ranks/launch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  LaunchOptions shell(const std::string& command, int64_t size) const {
    return {.words = {"/bin/sh", "-c", "cd " + folder.string() + "; " + command},
            .size = size,
            .time_to_end = std::chrono::milliseconds(100)};
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("launch_" + std::to_string(getpid()));
};

TEST_F(LaunchTest, EachRankKnowsWhichItIs) {
  EXPECT_EQ(launch_ranks(shell("echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE at "
                               "$MASTER_ADDR >$RANK",
                               3)),
            0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_file(folder / std::to_string(i)).bytes,
              fmt::format("{0} of 3, {0} of 3 at 127.0.0.1\n", i));
  }
}

TEST_F(LaunchTest, OneThatFailsIsNamedAndTheOthersEnd) {
  const std::string forever = "test $RANK = 1 || exec sleep 1000; ";
  EXPECT_EQ(error_of([&] { launch_ranks(shell(forever + "exit 3", 2)); }),
            "rank 1 ended with code 3");
  EXPECT_EQ(error_of([&] { launch_ranks(shell(forever + "kill -9 $$", 2)); }),
            "rank 1 was killed, as the system does when memory runs out");
}

TEST_F(LaunchTest, SignalsReachAll) {
  LaunchOptions options = shell("echo >$RANK; exec sleep 1000", 2);
  options.stop = [&] { return fs::exists(folder / "0") && fs::exists(folder / "1") ? SIGTERM : 0; };
  EXPECT_EQ(launch_ranks(options), SIGTERM);
}

}  // namespace
}  // namespace perceiver
