#include "perceiver/core/file_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "perceiver/core/child_process.h"
#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

TEST(FileLock, IsHeldByOneAtATimeAndByItsChildren) {
  const fs::path path = fs::path(testing::TempDir()) / ("lock_" + std::to_string(getpid()));
  write_file(path, "content");
  std::optional<FileLock> first(std::in_place, path, 0ms);
  EXPECT_TRUE(first->held());
  EXPECT_FALSE(FileLock(path, 30ms).held());
  std::optional<ChildProcess> child(std::in_place, std::vector<std::string>{"/bin/sleep", "1000"},
                                    "/dev/null");
  first.reset();
  EXPECT_FALSE(FileLock(path, 0ms).held());
  child.reset();
  EXPECT_TRUE(FileLock(path, 5s).held());
  EXPECT_EQ(read_file(path).bytes, "content");
  fs::remove(path);
  EXPECT_EQ(error_of([&] { FileLock(path, 0ms); }),
            path.string() + ": cannot open: No such file or directory");
}

}  // namespace
}  // namespace perceiver
