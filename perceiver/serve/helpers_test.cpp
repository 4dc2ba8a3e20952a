#include "perceiver/serve/helpers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "perceiver/serve/turns.h"

namespace perceiver {
namespace {

TEST(Helpers, DoAllTheyWereGivenBeforeTheyEnd) {
  std::atomic<int> done = 0;
  {
    Helpers helpers(3);
    for (int i = 0; i < 1000; ++i) helpers.post([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

TEST(Helpers, AreAsManyAsWaitAtOnce) {
  std::latch all(4);
  Helpers helpers(4);
  for (int i = 0; i < 4; ++i) helpers.post([&] { all.arrive_and_wait(); });
  all.wait();  // for ever, were there fewer
}

TEST(Turns, AreOfOneAtATime) {
  Turns turns;
  std::atomic<int> inside = 0;
  int64_t count = 0;
  const auto work = [&] {
    for (int i = 0; i < 500; ++i) {
      const Turn turn(turns);
      EXPECT_EQ(++inside, 1);
      ++count;
      --inside;
    }
  };
  {
    Helpers helpers(3);
    for (int i = 0; i < 3; ++i) helpers.post(work);
  }
  EXPECT_EQ(count, 1500);
}

TEST(Turns, LongWorkLetsOthersPassAndHasItsTurnAgain) {
  Turns turns;
  std::atomic<bool> passed = false;
  int64_t steps = 0;
  std::latch begun(1);
  Helpers helpers(2);
  helpers.post([&] {
    begun.wait();
    const Turn turn(turns);
    passed = true;
  });
  const Turn turn(turns);
  turns.let_pass();  // nobody wants it: nothing happens
  begun.count_down();
  for (; !passed; ++steps) {
    turns.let_pass();
    std::this_thread::yield();
  }
  EXPECT_GE(steps, 1);
}

}  // namespace
}  // namespace perceiver
