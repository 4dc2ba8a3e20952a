#include "perceiver/core/pipe.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class PipeTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove(pipe);
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  }
  void TearDown() override { fs::remove(pipe); }

  const fs::path pipe = fs::path(testing::TempDir()) / "perceiver_pipe";
};

TEST_F(PipeTest, WithoutAWriterIsAnErrorInsteadOfWaitingForEver) {
  EXPECT_EQ(error_of([&] { read_pipe(pipe, 50ms); }),
            pipe.string() + ": is a pipe that nobody writes to; waited 0.05 s");
}

TEST_F(PipeTest, IsReadToItsEndHoweverSlowlyItIsWritten) {
  std::thread writer([&] {
    std::ofstream stream(pipe);
    stream << "first " << std::flush;
    std::this_thread::sleep_for(100ms);
    stream << "last";
  });
  const File file = read_file(pipe);
  writer.join();
  EXPECT_EQ(file.bytes, "first last");
  EXPECT_EQ(file.name, pipe.string());
}

}  // namespace
}  // namespace perceiver
