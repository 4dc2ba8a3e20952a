#include "perceiver/ranks/ranks.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"
#include "perceiver/ranks/meeting.h"
#include "perceiver/ranks/ranks_test.h"

namespace perceiver {
namespace {

using namespace std::chrono_literals;

TEST(Ranks, SumsAreThoseOfAllRanksWhateverTheirTypes) {
  as_ranks(3, [](Ranks& ranks) {
    const double mine = static_cast<double>(ranks.rank() + 1);
    const Tensor a = at::full({2, 3}, mine), b = at::full({}, mine, at::kDouble),
                 c = at::full({4}, mine, at::kBFloat16), d = at::full({3, 2}, mine).t();
    ranks.sum({a, b, c, d});
    for (const Tensor& t : {a, b, c, d}) EXPECT_TRUE(t.eq(6.0).all().item<bool>()) << t;
    const Tensor e = at::full({5}, mine);
    Ranks::Pending pending = ranks.begin_sum(e);
    pending.wait();
    EXPECT_TRUE(e.eq(6.0).all().item<bool>());
  });
}

// a + b is the same in either order, so that two ranks are exact.
TEST(Ranks, TheSumOfTwoIsExact) {
  at::manual_seed(0);
  const Tensor a = at::randn({100'001}), b = at::randn({100'001});
  as_ranks(2, [&](Ranks& ranks) {
    const Tensor mine = (ranks.is_first() ? a : b).clone();
    ranks.sum({mine});
    EXPECT_TRUE(mine.equal(a + b));
  });
}

TEST(Ranks, BroadcastGatherAndAgreement) {
  as_ranks(3, [](Ranks& ranks) {
    const Tensor one = at::full({2}, ranks.rank()), two = at::full({3}, ranks.rank(), at::kLong);
    ranks.broadcast({one, two}, 2);
    EXPECT_TRUE(one.eq(2).all().item<bool>() && two.eq(2).all().item<bool>());
    EXPECT_EQ(ranks.most(ranks.rank() == 1 ? 15 : -3), 15);
    EXPECT_TRUE(ranks.all_have(7));
    EXPECT_FALSE(ranks.all_have(ranks.rank()));
    const std::vector<std::string> texts = ranks.gather(std::string(ranks.rank() * 5, 'x'));
    const std::vector<std::string> all = {"", "xxxxx", "xxxxxxxxxx"};
    EXPECT_EQ(texts, ranks.is_first() ? all : std::vector<std::string>());
  });
}

TEST(Ranks, OneIsAGroupToo) {
  as_ranks(1, [](Ranks& ranks) {
    const Tensor a = at::ones({3});
    ranks.sum({a});
    EXPECT_TRUE(a.equal(at::ones({3})));
    EXPECT_EQ(ranks.gather("x"), std::vector<std::string>{"x"});
  });
}

// What each of two that have this to say fails with.
std::vector<std::string> errors_of_two(const std::string& first, const std::string& second) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const std::string same = rank == 0 ? first : second;
      errors[rank] = error_of([&] { Ranks(store, {.rank = rank, .size = 2}, {.same = same}); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST(Ranks, WithDifferentConfigsOrVersionsDoNotBegin) {
  const std::string next = "; start all ranks with the same program, config and settings";
  const std::string config = "rank 1 has 'train.batch = 1', rank 0 has 'train.batch = 0'" + next;
  EXPECT_EQ(errors_of_two("train.steps = 4\ntrain.batch = 0", "train.steps = 4\ntrain.batch = 1"),
            std::vector<std::string>({config, config}));
  const std::string version = "rank 1 has 'perceiver 0.2.0', rank 0 has 'perceiver 0.1.0'" + next;
  EXPECT_EQ(errors_of_two("perceiver 0.1.0\nsame", "perceiver 0.2.0\nsame"),
            std::vector<std::string>({version, version}));
}

TEST(Ranks, OneThatDoesNotComeIsNamed) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  EXPECT_EQ(error_of([&] { Ranks(store, {.rank = 0, .size = 2}, {.patience = 100ms}); }),
            "rank 1 of 2 has not come within 0.1 s; were all started?");
}

// Rank 1 answers the roll call and does not take part.
TEST(Ranks, OneThatHangsIsNamedAtTheTimeOut) {
  std::string error;
  std::atomic<bool> done = false;
  as_ranks(2,
           [&](Ranks& ranks) {
             if (ranks.is_first()) {
               error = error_of([&] { ranks.most(0); });
               done = true;
             }
             while (!done) std::this_thread::sleep_for(10ms);
           },
           {.patience = 300ms});
  EXPECT_EQ(error, "rank 1 has not come to where the others wait");
}

TEST(Ranks, OneThatIsGoneIsNamed) {
  std::string error;
  std::atomic<int> connected = 0;
  as_ranks(3, [&](Ranks& ranks) {
    ++connected;
    while (connected < 3) std::this_thread::sleep_for(1ms);
    if (ranks.rank() == 2) return;
    const std::string mine = error_of([&] { ranks.most(0); });
    if (ranks.is_first()) error = mine;
    EXPECT_EQ(mine, "rank 2 has ended without a word");
  });
  EXPECT_EQ(error, "rank 2 has ended without a word");
}

TEST(Ranks, TheErrorOfOneReachesTheOthersWhateverTheyDo) {
  std::atomic<int> heard = 0;
  as_ranks(3,
           [&](Ranks& ranks) {
             if (ranks.rank() == 1) ranks.report("a.txt: cannot read");
             for (int i = 0; i < 500 && heard < 2; ++i) std::this_thread::sleep_for(10ms);
           },
           {.on_error = [&](const std::string& message) {
             EXPECT_EQ(message, "rank 1: a.txt: cannot read");
             ++heard;
           }});
  EXPECT_EQ(heard, 2);
}

TEST(OpenStore, AnAddressThatDoesNotAnswerIsAnError) {
  const Place alone{.rank = 1, .size = 2, .port = 1};  // nobody may listen there
  EXPECT_EQ(error_of([&] { open_store(alone, 200ms); }),
            "rank 1: 127.0.0.1:1 does not answer within 0.2 s; is rank 0 running, and does "
            "MASTER_ADDR name its machine?");
}

}  // namespace
}  // namespace perceiver
