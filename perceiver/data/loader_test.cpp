#include "perceiver/data/loader.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

// Example i is [i, something random]; those of `broken` cannot be read.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, std::set<int64_t> broken = {})
      : size_(size), broken_(std::move(broken)) {}

  int64_t size() const override { return size_; }
  Example get(int64_t index, Rng& rng) const override {
    if (broken_.contains(index)) fail("{}.txt: cannot open", index);
    return {{"x", at::tensor({static_cast<double>(index), rng.uniform()}, at::kDouble)}};
  }

 private:
  int64_t size_;
  std::set<int64_t> broken_;
};

// Batches [first, first + count), on top of each other.
Tensor batches(const Dataset& dataset, LoaderOptions options, int64_t count) {
  Loader loader(dataset, options);
  std::vector<Tensor> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(loader.next().at("x"));
  return at::cat(all);
}

TEST(Loader, BatchesDoNotDependOnThreadsNorOnWhereLoadingBegan) {
  const Numbers numbers(7);
  const Tensor one = batches(numbers, {.batch = 3, .seed = 5, .threads = 1}, 40);
  EXPECT_TRUE(one.equal(batches(numbers, {.batch = 3, .seed = 5, .threads = 4}, 40)));
  EXPECT_TRUE(one.slice(0, 51).equal(
      batches(numbers, {.batch = 3, .seed = 5, .threads = 3, .first = 17}, 23)));
  EXPECT_FALSE(one.equal(batches(numbers, {.batch = 3, .seed = 6}, 40)));
}

TEST(Loader, ProcessesShareEachBatchElementByElement) {
  const Numbers numbers(7);
  const Tensor all = batches(numbers, {.batch = 6, .seed = 5}, 20);
  for (const int64_t rank : {0, 1, 2}) {
    const Tensor part =
        batches(numbers, {.batch = 6, .rank = rank, .ranks = 3, .seed = 5, .threads = 2}, 20);
    EXPECT_TRUE(part.equal(all.slice(0, rank, {}, 3))) << rank;
  }
}

TEST(Loader, OrProcessesHaveWholeBatchesInTurn) {
  const Numbers numbers(17);
  const LoaderOptions alone{.batch = 3, .shuffle = false, .examples = 17};
  for (const int64_t ranks : {2, 4, 8}) {
    std::vector<std::unique_ptr<Loader>> of;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      LoaderOptions options = alone;
      options.rank = rank, options.ranks = ranks, options.whole_batches = true;
      of.push_back(std::make_unique<Loader>(numbers, options));
    }
    Loader one(numbers, alone);
    for (int64_t batch = 0; !one.done(); ++batch) {
      ASSERT_FALSE(of[batch % ranks]->done());
      EXPECT_TRUE(of[batch % ranks]->next().at("x").equal(one.next().at("x"))) << batch;
    }
    for (const auto& loader : of) EXPECT_TRUE(loader->done());
  }
}

TEST(Loader, AProcessHasItsShareOfABatchInPartsThatAllProcessesCountTogether) {
  const Numbers numbers(7);
  const Tensor all = batches(numbers, {.batch = 5, .seed = 5}, 20);
  for (const int64_t rank : {0, 1}) {
    Loader loader(
        numbers,
        {.batch = 5, .rank = rank, .ranks = 2, .parts = 3, .seed = 5, .threads = 2, .first = 4});
    for (int64_t batch = 4; batch < 20; ++batch) {
      for (int64_t part = rank; part < 6; part += 2) {
        const Example got = loader.next();
        ASSERT_EQ(got.empty(), part == 5) << batch;
        if (got.empty()) continue;
        EXPECT_TRUE(got.at("x").equal(all.slice(0, 5 * batch + part, 5 * batch + 5, 6)));
      }
    }
  }
}

TEST(Loader, EachEpochHasEveryExampleOnceInAnOrderOfItsOwn) {
  const Numbers numbers(6);
  const Tensor indices = batches(numbers, {.batch = 2}, 6).select(1, 0);
  const Tensor first = indices.slice(0, 0, 6), second = indices.slice(0, 6);
  EXPECT_TRUE(std::get<0>(first.sort()).equal(at::arange(6, at::kDouble)));
  EXPECT_TRUE(std::get<0>(second.sort()).equal(at::arange(6, at::kDouble)));
  EXPECT_FALSE(first.equal(second));
}

TEST(Loader, AnExampleIsRandomAnewInEachEpoch) {
  const Tensor both = batches(Numbers(1), {.batch = 1}, 2);
  EXPECT_NE(both[0][1].item<double>(), both[1][1].item<double>());
}

TEST(Loader, WithAnEndTheLastBatchIsSmallerAndNothingIsShuffled) {
  const Numbers numbers(5);
  Loader loader(numbers, {.batch = 2, .shuffle = false, .threads = 2, .examples = 5});
  std::vector<int64_t> sizes;
  double sum = 0.0;
  while (!loader.done()) {
    const Tensor x = loader.next().at("x");
    sizes.push_back(x.size(0));
    sum += x.select(1, 0).sum().item<double>();
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(sum, 10.0);
}

// Each is the middle of its share: 12 in 4 parts of 3.
TEST(Loader, FewerExamplesThanThereAreAreSpreadOverAll) {
  const Numbers numbers(12);
  Loader loader(numbers, {.batch = 4, .shuffle = false, .examples = 4});
  const Tensor indices = loader.next().at("x").select(1, 0);
  EXPECT_TRUE(loader.done());
  EXPECT_TRUE(indices.equal(at::tensor({1.0, 4.0, 7.0, 10.0}, at::kDouble))) << indices;
}

TEST(Loader, UnreadableExamplesStopOrAreNamedAndReplaced) {
  const Numbers numbers(4, {2});
  EXPECT_EQ(error_of([&] { batches(numbers, {.batch = 4}, 1); }), "2.txt: cannot open");
  for (const int64_t threads : {1, 3}) {
    std::vector<std::string> named;
    const auto note = [&](const std::string& message) { named.push_back(message); };
    const Tensor x = batches(numbers, {.batch = 4, .threads = threads, .unreadable = note}, 2);
    EXPECT_EQ(x.size(0), 8);
    EXPECT_FALSE(x.select(1, 0).eq(2.0).any().item<bool>());
    ASSERT_GE(named.size(), 2u);
    EXPECT_EQ(named[0], "2.txt: cannot open");
  }
  const auto ignore = [](const std::string&) {};
  EXPECT_EQ(error_of([&] { batches(Numbers(1, {0}), {.batch = 1, .unreadable = ignore}, 1); }),
            "0.txt: cannot open; 100 examples in a row cannot be read");
}

TEST(Loader, MostExamplesMayBeUnreadableWhereTheyAreReplaced) {
  std::set<int64_t> unreadable;
  for (int64_t i = 0; i < 100; ++i) {
    if (i % 5 != 0) unreadable.insert(i);
  }
  const auto ignore = [](const std::string&) {};
  const Tensor x = batches(Numbers(100, unreadable), {.batch = 50, .unreadable = ignore}, 40);
  EXPECT_EQ(x.size(0), 2000);
  EXPECT_TRUE(x.select(1, 0).remainder(5).eq(0).all().item<bool>());
}

TEST(Loader, UnreadableExamplesAreLeftOutWhereNoneIsToStandInForThem) {
  const Numbers numbers(7, {1, 3, 4, 5});
  for (const int64_t threads : {1, 3}) {
    Loader loader(numbers, {.batch = 3,
                            .shuffle = false,
                            .threads = threads,
                            .examples = 7,
                            .unreadable = [](const std::string&) {},
                            .replace_unreadable = false});
    std::vector<std::vector<double>> seen;
    while (!loader.done()) {
      const Example batch = loader.next();
      seen.emplace_back();
      if (batch.empty()) continue;
      const Tensor indices = batch.at("x").select(1, 0).contiguous();
      seen.back().assign(indices.data_ptr<double>(), indices.data_ptr<double>() + indices.size(0));
    }
    EXPECT_EQ(seen, (std::vector<std::vector<double>>{{0, 2}, {}, {6}}));
    EXPECT_EQ(loader.left_out(), 4);
  }
}

// A worker's own number becomes LibTorch's default for threads that have not asked before.
TEST(Loader, WorkersLeaveTheCallersThreadsAsTheyWere) {
  std::thread([] {
    at::set_num_threads(2);
    const Numbers numbers(4);
    Loader loader(numbers, {.batch = 4});
    loader.next();
    at::internal::lazy_init_num_threads();  // as at::parallel_for begins
    EXPECT_EQ(at::get_num_threads(), 2);
  }).join();
}

TEST(Loader, NothingToLoadIsSaid) {
  EXPECT_EQ(error_of([] { Loader(Numbers(0), {}); }), "there are no examples");
}

TEST(Stack, ArraysOfDifferentSizesAreRefused) {
  EXPECT_EQ(error_of([] {
              stack({{{"x", at::zeros({2})}}, {{"x", at::zeros({3})}}});
            }),
            "examples of one batch differ in the size of 'x': [2] and [3]");
}

}  // namespace
}  // namespace perceiver
