#include "perceiver/data/corpus.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "perceiver/core/error_test.h"
#include "perceiver/core/memory.h"
#include "perceiver/data/gzip_file_test.h"
#include "perceiver/data/loader.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;

// Examples of a corpus as bytes [32]; those whose bytes are fewer are filled with zeros.
class Windows : public Dataset {
 public:
  explicit Windows(const Corpus& corpus) : corpus_(corpus) {}

  int64_t size() const override { return corpus_.size(); }
  bool orders_itself() const override { return true; }
  Example get(int64_t index, Rng& rng) const override {
    const std::string text =
        corpus_.window(static_cast<int64_t>(rng.epoch()), index, kBytes, rng, WindowEdge::kByte);
    const Tensor bytes = at::zeros({kBytes}, at::kByte);
    std::copy(text.begin(), text.end(), bytes.data_ptr<uint8_t>());
    return {{"bytes", bytes}};
  }

  static constexpr int64_t kBytes = 32;

 private:
  const Corpus& corpus_;
};

class CorpusTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder / "c4");
    fs::create_directories(folder / "wiki");
    for (int64_t i = 0; i < 5; ++i) {
      write_gzip(folder / "c4" / fmt::format("{}.json.gz", i), json_lines('a', 3'000));
      write_file(folder / "wiki" / fmt::format("{}.txt", i), lines('z', 2'000));
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  // Numbers, each line with a letter before each.
  std::string lines(char letter, int64_t bytes) {
    std::string text;
    while (std::ssize(text) < bytes)
      text += fmt::format("{0}{1:05} {0}{2:05}\n", letter, next_++, 7);
    return text;
  }
  std::string json_lines(char letter, int64_t bytes) {
    std::string text;
    while (std::ssize(text) < bytes)
      text += fmt::format("{{\"text\":\"{}{:05}\"}}\n", letter, next_++);
    return text;
  }

  std::vector<std::string> both() const { return {folder / "c4", folder / "wiki"}; }

  static Tensor batches(const Corpus& corpus, const LoaderOptions& options, int64_t count) {
    const Windows windows(corpus);
    Loader loader(windows, options);
    std::vector<Tensor> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(loader.next().at("bytes"));
    return at::cat(all);
  }

  const TextStreamOptions small = {
      .seed = 5, .stride = Windows::kBytes, .lanes = 3, .round_bytes = 8'000};
  fs::path folder = fs::path(testing::TempDir()) / ("corpus_" + std::to_string(getpid()));
  int64_t next_ = 0;
};

TEST_F(CorpusTest, SourcesAreReadByTheirWeightsAtEveryExample) {
  const Corpus corpus(both(), {70, 30}, small);
  int64_t c4 = 0;
  for (int64_t i = 0; i < 3 * corpus.size(); ++i) {
    Rng rng(i);
    const std::string text = corpus.window(i / corpus.size(), i % corpus.size(), Windows::kBytes,
                                           rng, WindowEdge::kByte);
    c4 += text.find('a') != text.npos;
    EXPECT_LT(std::abs(static_cast<double>(c4) - 0.7 * static_cast<double>(i + 1)), 1.0);
  }
}

TEST_F(CorpusTest, WithoutWeightsSourcesAreReadByTheirSize) {
  const Corpus corpus(both(), {}, small);
  std::set<std::string> words;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    Rng rng(i);
    const std::string text = corpus.window(0, i, Windows::kBytes, rng, WindowEdge::kByte);
    for (size_t at = 0; at + 6 <= text.size(); ++at) {
      if (text[at] == 'a' || text[at] == 'z') words.insert(text.substr(at, 6));
    }
  }
  // Of all numbers nearly each is whole in one of the windows, whatever its source.
  EXPECT_GT(std::ssize(words), next_ * 3 / 4);
}

TEST_F(CorpusTest, BatchesDoNotDependOnThreadsNorOnWhereLoadingBegan) {
  const Corpus corpus(both(), {7, 3}, small);
  const int64_t count = 3 * corpus.size() / 8;
  const Tensor one = batches(corpus, {.batch = 8, .seed = 5}, count);
  EXPECT_TRUE(one.equal(batches(corpus, {.batch = 8, .seed = 5, .threads = 4}, count)));
  const Corpus again(both(), {7, 3}, small);
  for (const int64_t first : {int64_t{1}, count / 3, count / 2 + 3, count - 1}) {
    EXPECT_TRUE(one.slice(0, 8 * first)
                    .equal(batches(again, {.batch = 8, .seed = 5, .first = first}, count - first)))
        << first;
  }
}

TEST_F(CorpusTest, TwoProcessesHaveDisjointExamplesThatTogetherAreThoseOfOne) {
  const Corpus one(both(), {7, 3}, small), first(both(), {7, 3}, small),
      second(both(), {7, 3}, small);
  const int64_t count = one.size() / 8;
  const Tensor all = batches(one, {.batch = 8, .seed = 5}, count);
  const Tensor even = batches(first, {.batch = 8, .rank = 0, .ranks = 2, .seed = 5}, count);
  const Tensor odd = batches(second, {.batch = 8, .rank = 1, .ranks = 2, .seed = 5}, count);
  EXPECT_EQ(even.size(0), 4 * count);
  EXPECT_TRUE(even.equal(all.slice(0, 0, {}, 2)));
  EXPECT_TRUE(odd.equal(all.slice(0, 1, {}, 2)));
}

TEST_F(CorpusTest, UnreadableLinesStopOrAreSkippedAndCounted) {
  std::string text = json_lines('a', 3'000);
  text.insert(text.find('\n') + 1, "no JSON\n");
  const fs::path file = folder / "c4" / "2.json.gz";
  write_gzip(file, text);
  const Corpus corpus({folder / "c4"}, {}, small);
  const std::string message = file.string() + ":2: must be a JSON object with a string 'text'";
  const int64_t count = corpus.size() / 4 + 1;
  EXPECT_EQ(error_of([&] { batches(corpus, {.batch = 4}, count); }), message);
  std::vector<std::string> said;
  const Tensor read = batches(
      corpus, {.batch = 4, .unreadable = [&](const std::string& m) { said.push_back(m); }}, count);
  EXPECT_EQ(read.size(0), 4 * count);
  // Once, and where the next epoch has begun in the last batch or by an example in its place,
  // again.
  ASSERT_GE(said.size(), 1u);
  EXPECT_LE(said.size(), 2u);
  EXPECT_EQ(said[0], message);
}

TEST_F(CorpusTest, WhatIsMissingIsSaid) {
  EXPECT_EQ(error_of([&] { Corpus({folder / "gone"}, {}, small); }),
            (folder / "gone").string() + ": no such file or folder");
  write_file(folder / "blank.txt", "\n\n");
  EXPECT_EQ(error_of([&] {
              Corpus({folder / "wiki", folder / "blank.txt"}, {1, 1}, small);
            }),
            (folder / "blank.txt").string() + ": there is no text in it");
}

// Two thousand shards of a megabyte, as names of twenty files: a stream cannot tell.
TEST_F(CorpusTest, TwoThousandShardsAreReadInBoundedMemoryAndNoneIsOpenedBeforeItsRound) {
  constexpr int64_t kShards = 2000, kFiles = 20, kStride = 2048;
  const fs::path shards = folder / "shards";
  fs::create_directories(shards);
  const auto zipped = [](int64_t i) { return i % 10 == 0; };
  const auto name = [&](int64_t i) {
    return shards / fmt::format("train.{:05}-of-02000{}", i, zipped(i) ? ".json.gz" : ".txt");
  };
  for (int64_t i = 0; i < kFiles; ++i) {
    std::string text;
    Rng rng(i);
    while (text.size() < 1'000'000) {
      std::string document;
      for (int64_t word = 0; word < 300; ++word) document += fmt::format("{:x} ", rng.bits() >> 40);
      text += zipped(i) ? fmt::format("{{\"text\": \"{}\", \"url\": \"a.org\"}}\n", document)
                        : document + '\n';
    }
    zipped(i) ? write_gzip(name(i), text) : write_file(name(i), text);
  }
  for (int64_t i = kFiles; i < kShards; ++i) fs::create_hard_link(name(i % kFiles), name(i));
  reset_peak_memory(at::kCPU);
  const int64_t before = held_memory(at::kCPU);
  const Corpus corpus({shards}, {}, {.stride = kStride});
  EXPECT_EQ(corpus.num_opened(), 2);  // one of each kind, for how dense its text is
  const auto window = [&](int64_t index) {
    Rng rng(index);
    return std::ssize(corpus.window(0, index, kStride, rng, WindowEdge::kByte));
  };
  EXPECT_EQ(window(0), kStride);
  EXPECT_EQ(corpus.num_opened(), 3);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(window(i), kStride);
  EXPECT_LE(corpus.num_opened(), 2 + 16);
  for (int64_t i = 0; i < corpus.size(); i += 100) EXPECT_EQ(window(i), kStride);
  EXPECT_EQ(corpus.num_opened(), 2 + kShards);
  const int64_t grown = peak_memory(at::kCPU) - before;
#ifdef __SANITIZE_ADDRESS__  // it keeps what is given back
  EXPECT_GT(grown, 0);
#else
  EXPECT_LT(grown, 300 << 20);
#endif
}

}  // namespace
}  // namespace perceiver
