#include "perceiver/data/text_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "perceiver/core/error_test.h"
#include "perceiver/data/gzip_file_test.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

class TextStreamTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  // Lines of numbers that no other line has, so that a piece of text tells where it is from.
  std::string numbers(int64_t bytes) {
    std::string text;
    while (std::ssize(text) < bytes) {
      for (int64_t i = 0; i < 3 + std::ssize(text) % 5; ++i) {
        text += fmt::format("{}{:06}", i > 0 ? " " : "", next_++);
      }
      text += '\n';
    }
    return text;
  }

  static std::string as_json(const std::string& text) {
    std::string lines;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      lines += fmt::format("{{\"text\": \"{}\", \"url\": \"https://a.org\"}}\n",
                           text.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  }

  // Files of `bytes` each and more, of any kind: .txt, .json.gz, …
  std::vector<fs::path> write(const std::string& kind, int64_t count, int64_t bytes) {
    std::vector<fs::path> files;
    for (int64_t i = 0; i < count; ++i) {
      const std::string text = numbers(bytes + 1000 * i);
      all_ += text;
      files.push_back(folder / fmt::format("{:03}{}", i, kind));
      const std::string lines = is_json_lines(files.back()) ? as_json(text) : text;
      is_gzip(files.back()) ? write_gzip(files.back(), lines) : write_file(files.back(), lines);
    }
    return files;
  }

  static std::string window(const TextStream& stream, int64_t number, int64_t bytes) {
    Rng rng(0, 0, number);
    return stream.window(number, bytes, rng, WindowEdge::kByte);
  }

  static std::vector<std::string> windows(const TextStream& stream, int64_t from, int64_t to) {
    std::vector<std::string> windows;
    for (int64_t i = from; i < to; ++i) windows.push_back(window(stream, i, kStride));
    return windows;
  }

  // How often each byte of all texts is in the windows.
  std::vector<int64_t> times_seen(const std::vector<std::string>& windows) const {
    std::vector<int64_t> times(all_.size());
    for (const std::string& window : windows) {
      const size_t at = all_.find(window);
      EXPECT_NE(at, all_.npos) << window;
      for (size_t i = at; at != all_.npos && i < at + window.size(); ++i) ++times[i];
    }
    return times;
  }

  static constexpr int64_t kStride = 64;
  const TextStreamOptions small = {.seed = 5, .stride = kStride, .lanes = 3, .round_bytes = 12'000};
  fs::path folder = fs::path(testing::TempDir()) / ("text_stream_" + std::to_string(getpid()));
  std::string all_;
  int64_t next_ = 0;
};

TEST_F(TextStreamTest, InAnEpochEveryByteIsSeenAndLittleTwice) {
  for (const char* kind : {".txt", ".jsonl", ".json", ".txt.gz", ".json.gz", ".jsonl.gz"}) {
    SetUp();
    all_.clear();
    const TextStream stream(write(kind, 7, 9'000), small);
    const std::vector<std::string> epoch = windows(stream, 0, stream.size());
    int64_t again = 0;
    const std::vector<int64_t> times = times_seen(epoch);
    for (size_t i = 0; i < all_.size(); ++i) {
      // Between two segments there is no line break.
      ASSERT_TRUE(times[i] > 0 || all_[i] == '\n') << kind << " " << i;
      again += std::max<int64_t>(0, times[i] - 1);
    }
    for (const std::string& window : epoch) EXPECT_EQ(std::ssize(window), kStride);
    // Of plain text what rounding up adds, of others 5 % and what files differ by.
    EXPECT_LT(again, std::ssize(all_) / (kind == std::string(".txt") ? 50 : 8)) << kind;
    TearDown();
  }
}

TEST_F(TextStreamTest, ExamplesAreTheSameWhereverReadingBegins) {
  for (const char* kind : {".txt", ".json.gz"}) {
    all_.clear();
    // Of several segments each: some 2 MiB, half of that zipped.
    const bool zipped = is_gzip(kind);
    const std::vector<fs::path> files = write(kind, 4, zipped ? 2 << 20 : 20'000);
    TextStreamOptions options = small;
    if (zipped) options.round_bytes = 1 << 20, options.stride = 16 << 10;
    const TextStream stream(files, options);
    const std::vector<std::string> two_epochs = windows(stream, 0, 2 * stream.size());
    EXPECT_EQ(stream.num_opened(), 1 + 2 * 4);
    Rng rng(1);
    for (int64_t i = 0; i < 6; ++i) {
      const int64_t from = rng.integer(std::ssize(two_epochs) - 40);
      const TextStream resumed(files, options);
      const std::vector<std::string> some = windows(resumed, from, from + 40);
      EXPECT_TRUE(std::equal(some.begin(), some.end(), two_epochs.begin() + from)) << from;
    }
    // Backwards, which reads more, and nothing else.
    const TextStream backwards(files, options);
    for (int64_t i = 2 * stream.size() - 1; i >= 0; i -= 97) {
      ASSERT_EQ(window(backwards, i, kStride), two_epochs[i]) << i;
    }
  }
}

TEST_F(TextStreamTest, ThreadsGetWhatOneGets) {
  const std::vector<fs::path> files = write(".txt.gz", 6, 30'000);
  const TextStream alone(files, small), shared(files, small);
  const std::vector<std::string> expected = windows(alone, 0, 3 * alone.size());
  std::vector<std::string> made(expected.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < made.size(); i += 4) {
        made[i] = window(shared, static_cast<int64_t>(i), kStride);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, expected);
}

TEST_F(TextStreamTest, EpochsAndSeedsDifferAndNeighboursAreOfSeveralFiles) {
  const std::vector<fs::path> files = write(".txt", 9, 9'000);
  TextStreamOptions other = small;
  other.seed = 6;
  const TextStream stream(files, small), reseeded(files, other);
  const int64_t size = stream.size();
  EXPECT_EQ(size, reseeded.size());
  const auto first = windows(stream, 0, size), second = windows(stream, size, 2 * size);
  const auto third = windows(reseeded, 0, size);
  int64_t same = 0, neighbours = 0;
  for (int64_t i = 0; i < size; ++i) {
    same += first[i] == second[i];
    same += first[i] == third[i];
    const size_t at = all_.find(first[i]), next = all_.find(first[(i + 1) % size]);
    neighbours += next > at && next < at + 2 * kStride;
  }
  EXPECT_LT(same, size / 50);
  EXPECT_LT(neighbours, size / 50);
  std::set<size_t> files_of_first;
  for (int64_t i = 0; i < 30; ++i) files_of_first.insert(all_.find(first[i]) / 13'000);
  EXPECT_GE(files_of_first.size(), 3u);
}

TEST_F(TextStreamTest, ALineThatCannotBeReadCostsTheExampleAtItsPlace) {
  for (const char* kind : {".jsonl", ".json.gz"}) {
    const std::vector<fs::path> files = write(kind, 2, 20'000);
    std::string lines = as_json(numbers(20'000));
    const size_t half = lines.find('\n', lines.size() / 2) + 1;
    const int64_t number = std::count(lines.begin(), lines.begin() + half, '\n') + 1;
    lines.insert(half, "{\"txt\": 3}\n");
    is_gzip(kind) ? write_gzip(files[1], lines) : write_file(files[1], lines);
    const TextStream stream(files, small);
    std::vector<std::string> errors;
    for (int64_t i = 0; i < stream.size(); ++i) {
      const std::string error = error_of([&] { window(stream, i, kStride); });
      if (error != "no error") errors.push_back(error);
    }
    EXPECT_EQ(errors,
              std::vector<std::string>{fmt::format(
                  "{}:{}: must be a JSON object with a string 'text'", files[1].string(), number)});
  }
}

TEST_F(TextStreamTest, AFileThatIsCutShortIsNamedByItsExamplesAlone) {
  const std::vector<fs::path> files = write(".txt.gz", 3, 20'000);
  const auto length = static_cast<int64_t>(fs::file_size(files[1])) / 2;
  fs::resize_file(files[1], length);
  const TextStream stream(files, small);
  int64_t bad = 0;
  for (int64_t i = 0; i < stream.size(); ++i) {
    const std::string error = error_of([&] { window(stream, i, kStride); });
    if (error == "no error") continue;
    ++bad;
    EXPECT_EQ(error, fmt::format("{}: ends after {} bytes in the middle of its text; copy it again",
                                 files[1].string(), length));
  }
  EXPECT_NEAR(static_cast<double>(bad) / static_cast<double>(stream.size()), 0.2, 0.05);
  EXPECT_EQ(error_of([&] { TextStream({files[1]}, small); }),
            fmt::format("{}: ends after {} bytes in the middle of its text; copy it again",
                        files[1].string(), length));
}

TEST_F(TextStreamTest, HeldOutLinesAreNotAmongTheExamples) {
  for (const char* kind : {".txt", ".json.gz"}) {
    all_.clear();
    const std::vector<fs::path> files = write(kind, 4, 20'000);
    TextStreamOptions options = small;
    options.held_out_share = 0.05;
    const TextStream stream(files, options);
    const File held_out = stream.held_out();
    EXPECT_EQ(held_out.name, files[0].string());
    ASSERT_FALSE(held_out.bytes.empty());
    const size_t begin = held_out.bytes.find_first_of("0123456789");
    const std::string first_word = held_out.bytes.substr(begin, 6);
    EXPECT_TRUE(all_.starts_with(first_word));
    const std::vector<int64_t> times = times_seen(windows(stream, 0, stream.size()));
    size_t unseen = 0;
    while (times[unseen] == 0) ++unseen;
    const double share = static_cast<double>(unseen) / static_cast<double>(all_.size());
    // Of JSON the bytes of its lines are counted, a third of which are no text here.
    EXPECT_NEAR(share, 0.05, is_gzip(kind) ? 0.03 : 0.005);
    const std::string next_word = all_.substr(unseen, 6);
    EXPECT_EQ(held_out.bytes.find(next_word), held_out.bytes.npos);
    for (size_t i = unseen; i < all_.size(); ++i) {
      ASSERT_TRUE(times[i] > 0 || all_[i] == '\n') << kind << " " << i;
    }
  }
  EXPECT_EQ(TextStream({folder / "000.txt"}, small).held_out().name, "");
}

TEST_F(TextStreamTest, WhatHasNoTextIsPassedOver) {
  std::vector<fs::path> files = write(".txt", 3, 9'000);
  write_file(folder / "blank.txt", std::string(40'000, '\n'));
  write_file(folder / "empty.txt", "");
  files.insert(files.begin(), {folder / "blank.txt", folder / "empty.txt"});
  const TextStream stream(files, small);
  for (const std::string& window : windows(stream, 0, stream.size())) {
    EXPECT_EQ(std::ssize(window), kStride);
  }
  EXPECT_EQ(TextStream({folder / "blank.txt", folder / "empty.txt"}, small).size(), 0);
}

TEST_F(TextStreamTest, WholeFilesAreDocumentsWithTheirBlankLines) {
  write_file(folder / "a.txt", "one  \n\n  two\nthree");
  TextStreamOptions options = small;
  EXPECT_EQ(window(TextStream({folder / "a.txt"}, options), 0, kStride), "one\n  two\nthree");
  options.unit = DocumentUnit::kFile;
  EXPECT_EQ(window(TextStream({folder / "a.txt"}, options), 0, kStride), "one  \n\n  two\nthree\n");
}

}  // namespace
}  // namespace perceiver
