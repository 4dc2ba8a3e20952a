#include "perceiver/ranks/shared_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "perceiver/core/error.h"
#include "perceiver/core/error_test.h"
#include "perceiver/ranks/ranks_test.h"

namespace perceiver {
namespace {

using namespace std::chrono_literals;
using Work = std::function<std::optional<std::string>(int64_t piece)>;

// Pieces 0 to `count` - 1.
Work pieces(int64_t count, const std::function<std::string(int64_t)>& work) {
  return [=](int64_t piece) -> std::optional<std::string> {
    if (piece >= count) return {};
    return work(piece);
  };
}

std::vector<std::string> taken_by(Ranks* ranks, const Work& work) {
  std::vector<std::string> taken;
  share(ranks, {.work = work, .take = [&](int64_t piece, const std::string& result) {
                  EXPECT_EQ(piece, std::ssize(taken));
                  taken.push_back(result);
                }});
  return taken;
}

TEST(Share, ResultsComeInTheOrderOfOneProcessWhoeverIsSlow) {
  for (const int64_t count : {0, 1, 2, 3, 40, 200}) {
    const Work slow_now_and_then = pieces(count, [](int64_t piece) {
      if (piece % 40 == 7) std::this_thread::sleep_for(20ms);
      return piece % 5 == 0 ? "" : std::string(piece, 'x');
    });
    const std::vector<std::string> alone = taken_by(nullptr, slow_now_and_then);
    EXPECT_EQ(std::ssize(alone), count);
    std::atomic<int64_t> done = 0;
    as_ranks(3, [&](Ranks& ranks) {
      const Work counted = [&](int64_t piece) {
        EXPECT_EQ(piece % 3, ranks.rank());
        done += piece < count ? 1 : 0;
        return slow_now_and_then(piece);
      };
      const std::vector<std::string> shared = taken_by(&ranks, counted);
      EXPECT_EQ(shared, ranks.is_first() ? alone : std::vector<std::string>());
    });
    EXPECT_EQ(done, count);
  }
}

TEST(Share, OneAfterAnotherAndLongTexts) {
  as_ranks(2, [](Ranks& ranks) {
    for (int64_t length : {10, 9'000'000}) {
      const std::vector<std::string> taken = taken_by(
          &ranks, pieces(4, [&](int64_t piece) { return std::string(length + piece, 'a'); }));
      ASSERT_EQ(taken.size(), ranks.is_first() ? 4u : 0u);
      for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i].size(), length + i);
    }
  });
}

// The first waits longer than its patience for a rank that is at work, and says so of one that is
// not.
TEST(Share, PatienceIsForRanksThatDoNotAnswer) {
  as_ranks(2,
           [](Ranks& ranks) {
             const auto slow = [&](int64_t) {
               if (ranks.rank() == 1) std::this_thread::sleep_for(800ms);
               return std::string("done");
             };
             EXPECT_EQ(taken_by(&ranks, pieces(2, slow)).size(), ranks.is_first() ? 2u : 0u);
           },
           {.patience = 300ms});
  std::atomic<int> connected = 0;
  as_ranks(2,
           [&](Ranks& ranks) {
             ++connected;
             while (connected < 2) std::this_thread::sleep_for(1ms);
             if (!ranks.is_first()) return;
             EXPECT_EQ(error_of([&] { taken_by(&ranks, pieces(2, [](int64_t) { return ""; })); }),
                       "rank 1 has ended without a word");
           },
           {.patience = 300ms});
}

TEST(Share, AnErrorOfOneRankEndsTheFirst) {
  std::string error;
  as_ranks(2,
           [&](Ranks& ranks) {
             const auto fails = [](int64_t piece) -> std::string {
               if (piece == 3) fail("a.png: cannot read");
               return "";
             };
             const std::string mine = error_of([&] { taken_by(&ranks, pieces(9, fails)); });
             if (ranks.is_first()) {
               error = mine;
             } else {
               EXPECT_EQ(ranks.report(mine), "rank 1: a.png: cannot read");
             }
           },
           {.patience = 300ms});
  EXPECT_EQ(error, "rank 1: a.png: cannot read");
}

}  // namespace
}  // namespace perceiver
