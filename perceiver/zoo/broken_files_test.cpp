// Every file of a model, cut short and with flipped bytes: an error line or the right answer.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>

#include "perceiver/core/error.h"
#include "perceiver/weights/safetensors.h"
#include "perceiver/zoo/golden_test.h"
#include "perceiver/zoo/model.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCuts = 1000;

// A copy of a golden folder that may be broken.
class BrokenFilesTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const fs::path source = golden(GetParam());
    if (!fs::exists(source)) GTEST_SKIP() << "PERCEIVER_GOLDENS does not hold " << GetParam();
    folder = fs::path(testing::TempDir()) / "perceiver_broken";
    fs::remove_all(folder);
    fs::create_directories(folder);
    for (const fs::path& file : sorted_entries(source)) {
      write_file(folder / file.filename(), read_file(file).bytes);
    }
    io = read_file(folder / "io.safetensors");
    fs::remove(folder / "io.safetensors");
    whole = parameters();
  }

  void TearDown() override { fs::remove_all(folder); }

  std::vector<Tensor> parameters() { return load_model(folder).task->model().parameters(); }

  // An error is one line; anything else must be what the whole file gives.
  void expect_error_or_answer(const fs::path& file, int64_t at, bool may_differ) {
    try {
      const std::vector<Tensor> got = parameters();
      if (may_differ) return;
      ASSERT_EQ(got.size(), whole.size()) << file << " at " << at;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(got[i].equal(whole[i])) << file << " at " << at;
      }
    } catch (const Error& e) {
      ASSERT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    }
  }

  // All of the smallest model's; of the others a part that a build has time for, or all where
  // PERCEIVER_EVERY_BYTE is set.
  static int64_t step_of_header() {
    const bool all = std::getenv("PERCEIVER_EVERY_BYTE") != nullptr ||
                     std::string(GetParam()) == "huggingface/text-classifier";
    return all ? 1 : 29;
  }

  static int64_t peak_kib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  }

  fs::path folder;
  File io;
  std::vector<Tensor> whole;
};

TEST_P(BrokenFilesTest, EveryCutIsAnErrorAndTakesNoMemory) {
  const int64_t before = peak_kib();
  for (const fs::path& file : sorted_entries(folder)) {
    const std::string bytes = read_file(file).bytes;
    const int64_t size = static_cast<int64_t>(bytes.size());
    for (int64_t i = kCuts - 1; i >= 0; --i) {
      fs::resize_file(file, size * i / kCuts);
      EXPECT_THROW(parameters(), Error) << file << " cut to " << size * i / kCuts;
    }
    write_file(file, bytes);
  }
  // A few times the largest file at most: these are small.
  EXPECT_LT(peak_kib() - before, 200 * 1024);
}

TEST_P(BrokenFilesTest, EveryCutOfTheArraysIsAnError) {
  const fs::path file = folder / "io.safetensors";
  write_file(file, io.bytes);
  for (int64_t i = kCuts - 1; i >= 0; --i) {
    fs::resize_file(file, io.bytes.size() * i / kCuts);
    EXPECT_THROW(read_safetensors(file), Error) << i;
  }
}

TEST_P(BrokenFilesTest, EveryFlippedHeaderByteIsAnErrorOrTheRightAnswer) {
  const int64_t before = peak_kib();
  for (const fs::path& file : sorted_entries(folder)) {
    const std::string bytes = read_file(file).bytes;
    const bool safetensors = file.extension() == ".safetensors";
    // A pickle has no header: its instructions lie between the arrays, so bytes are picked from all
    // over the file, and one that lands in an array changes a number.
    int64_t count = static_cast<int64_t>(bytes.size()), step = step_of_header();
    if (safetensors) {
      uint64_t header;
      std::memcpy(&header, bytes.data(), sizeof header);
      count = static_cast<int64_t>(header) + 8;
    } else if (file.extension() == ".pystate") {
      step = std::max<int64_t>(1, step * count / 10'000);
    }
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    for (int64_t at = 0; at < count; at += step) {
      const char flipped = static_cast<char>(bytes[at] ^ (1 << at % 8));
      stream.seekp(at).put(flipped).flush();
      // A digit of a setting that no tensor depends on is another model, and a right one.
      expect_error_or_answer(file, at, /*may_differ=*/!safetensors);
      stream.seekp(at).put(bytes[at]).flush();
    }
  }
  EXPECT_LT(peak_kib() - before, 400 * 1024);
}

INSTANTIATE_TEST_SUITE_P(Goldens, BrokenFilesTest, kGoldens, golden_test_name);

}  // namespace
}  // namespace perceiver
