#include "perceiver/core/file.h"

#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

TEST(WriteFile, ReplacesTheFileAndLeavesNothingBeside) {
  const fs::path folder = fs::path(testing::TempDir()) / "write_file";
  fs::remove_all(folder);
  fs::create_directory(folder);
  write_file(folder / "a", "old");
  write_file(folder / "a", std::string("n\0w", 3));
  EXPECT_EQ(read_file(folder / "a").bytes, std::string("n\0w", 3));
  EXPECT_EQ(sorted_entries(folder).size(), 1);
}

TEST(WriteFile, ThatCannotBeWrittenIsNamed) {
  EXPECT_EQ(error_of([] { write_file("/nope/o.flo", ""); }),
            "/nope/o.flo: cannot write: No such file or directory");
}

TEST(WriteFile, LeavesADeviceADevice) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(ReadFile, ThatCannotBeReadIsNamed) {
  EXPECT_EQ(error_of([] { read_file("/nope.png"); }),
            "/nope.png: cannot open: No such file or directory");
  EXPECT_EQ(error_of([] { read_file("/tmp"); }), "/tmp: is a folder, expected a file");
}

TEST(ReadFile, ALinkToItselfIsNamed) {
  const fs::path link = fs::path(testing::TempDir()) / "perceiver_link";
  fs::remove(link);
  fs::create_symlink(link.filename(), link);
  EXPECT_EQ(error_of([&] { read_file(link); }),
            link.string() + ": cannot open: Too many levels of symbolic links");
  fs::remove(link);
}

}  // namespace
}  // namespace perceiver
