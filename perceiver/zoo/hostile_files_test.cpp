// Files that somebody else made, to hurt: each is one line, read no further than it must be.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perceiver/core/error_test.h"
#include "perceiver/core/file.h"
#include "perceiver/zoo/model.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// A copy of a small model, to be spoilt.
class HostileFilesTest : public testing::Test {
 protected:
  void SetUp() override { copy("huggingface/text-classifier"); }
  void TearDown() override { fs::remove_all(folder); }

  void copy(const std::string& golden) {
    fs::remove_all(folder);
    fs::copy(fs::path("tests/golden") / golden, folder);
  }

  std::string path(const char* name) const { return (folder / name).string(); }
  std::string load_error() const {
    return error_of([&] { load_model(folder); });
  }
  std::string error_with_labels(std::string_view labels) const {
    write_file(folder / "labels.txt", labels);
    return load_error();
  }

  const fs::path folder =
      fs::path(testing::TempDir()) / fmt::format("perceiver_hostile_{}", getpid());
};

TEST_F(HostileFilesTest, LabelsAreAsManyShortTextsAsThereAreClasses) {
  const std::string file = path("labels.txt");
  EXPECT_EQ(error_with_labels("no\nperhaps\r\nyes\n"), "no error");
  EXPECT_EQ(error_with_labels("no\n\xff\xfe\nyes\n"), file + ":2: the name is not UTF-8");
  EXPECT_EQ(error_with_labels("no\nyes"), file + ": 2 names, the model has 3 classes");
  EXPECT_EQ(error_with_labels("a\nb\nc\nd\n"),
            file + ": more names than the model has classes (3)");
  EXPECT_EQ(error_with_labels(fmt::format("{:x>1001}\nb\nc\n", "")),
            file + ":1: a name of 1001 bytes, expected at most 1000");
  EXPECT_EQ(error_with_labels("a\nb\n\x1b[2Jc\n"),
            file + ":3: the name '\\x1b[2Jc' has control characters");
}

// The fourth line ends the reading: a terabyte behind it is never looked at.
TEST_F(HostileFilesTest, LabelsBeyondTheClassesAreNotRead) {
  write_file(folder / "labels.txt", "a\nb\nc\nd\n");
  fs::resize_file(folder / "labels.txt", uintmax_t{1} << 40);
  EXPECT_EQ(load_error(), path("labels.txt") + ": more names than the model has classes (3)");
}

TEST_F(HostileFilesTest, APipeInTheFolderIsNotWaitedFor) {
  for (const char* name : {"labels.txt", "model.safetensors", "config.json"}) {
    copy("huggingface/text-classifier");
    fs::remove(folder / name);
    ASSERT_EQ(mkfifo(path(name).c_str(), 0600), 0);
    EXPECT_EQ(load_error(), path(name) + ": is not a plain file");
  }
  copy("deepmind/language");
  fs::remove(folder / "config.json");
  ASSERT_EQ(mkfifo(path("config.json").c_str(), 0600), 0);
  EXPECT_EQ(load_error(), path("config.json") + ": is not a plain file");
}

TEST_F(HostileFilesTest, ALinkToItselfIsNamed) {
  for (const char* name : {"labels.txt", "model.safetensors", "config.json"}) {
    copy("huggingface/text-classifier");
    fs::remove(folder / name);
    fs::create_symlink(name, folder / name);
    EXPECT_EQ(load_error(), path(name) + ": cannot open: Too many levels of symbolic links");
  }
  const fs::path link = folder / "model";
  fs::create_symlink("model", link);
  for (const auto& call :
       {+[](const fs::path& p) { load_model(p); }, +[](const fs::path& p) { settings_file(p); }}) {
    EXPECT_EQ(error_of([&] { call(link); }), link.string() + ": Too many levels of symbolic links");
  }
}

TEST_F(HostileFilesTest, ADeviceOrAnEndlessConfigIsNotRead) {
  fs::remove(folder / "config.json");
  fs::create_symlink("/dev/zero", folder / "config.json");
  EXPECT_EQ(load_error(), path("config.json") + ": is not a plain file");
  fs::remove(folder / "config.json");
  write_file(folder / "config.json", "");
  fs::resize_file(folder / "config.json", uintmax_t{1} << 40);
  EXPECT_EQ(load_error(), path("config.json") + ": 1099511627776 bytes are too many for a config");
}

TEST_F(HostileFilesTest, CountsBesideDeepMindsFilesHaveAnEnd) {
  copy("deepmind/language");
  write_file(folder / "config.json", R"({"blocks": 1000000000000})");
  EXPECT_EQ(load_error(), path("config.json") + ": 'blocks' must be an integer from 1 to 16777216");
  write_file(folder / "config.json", R"({"blocks": 1000000})");
  EXPECT_EQ(load_error(), path("checkpoint.pystate") +
                              ": model.encoder.num_blocks must be at most 1024, got 1000000");
  copy("deepmind/image-fourier");
  write_file(folder / "config.json", R"({"input_preprocessor":
      {"fourier_position_encoding_kwargs": {"max_resolution": [4611686018427387904, 224]}}})");
  EXPECT_EQ(load_error(),
            path("config.json") +
                ": 'input_preprocessor.fourier_position_encoding_kwargs.max_resolution' must be 2 "
                "integers from 1 to 16777216");
}

}  // namespace
}  // namespace perceiver
