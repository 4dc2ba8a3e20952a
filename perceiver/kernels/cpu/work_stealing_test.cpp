#include "perceiver/kernels/cpu/work_stealing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "perceiver/kernels/cpu/threads_test.h"

namespace perceiver {
namespace {

class ShareOutTest : public testing::TestWithParam<int> {
 private:
  ThreadsScope threads_{GetParam()};
};

TEST_P(ShareOutTest, EachPartIsDoneOnce) {
  for (const int64_t count : {0, 1, 2, 3, 7, 100}) {
    std::vector<std::atomic<int>> done(count);
    share_out(count, [&](int64_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1) << count << " parts";
  }
}

using ShareOutBySeveralTest = ShareOutTest;

TEST_P(ShareOutBySeveralTest, WhoIsDoneTakesOverWhatASlowOneHasNotBegun) {
  constexpr int64_t kCount = 64;
  std::atomic<int64_t> done = 0, others = 0;
  share_out(kCount, [&](int64_t i) {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    // The first part ends when all others have: most of its own thread's stretch among them.
    while (i == 0 && done < kCount - 1 && std::chrono::steady_clock::now() < late) {
      std::this_thread::yield();
    }
    if (i == 0) others = done.load();
    ++done;
  });
  EXPECT_EQ(others, kCount - 1);
  EXPECT_EQ(done, kCount);
}

TEST_P(ShareOutTest, AnErrorOfAPartIsTheCallers) {
  EXPECT_THROW(share_out(10,
                         [](int64_t i) {
                           if (i == 7) throw std::runtime_error("seven");
                         }),
               std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Threads, ShareOutTest, testing::Values(1, 2, 3));
INSTANTIATE_TEST_SUITE_P(Threads, ShareOutBySeveralTest, testing::Values(2, 3));

}  // namespace
}  // namespace perceiver
