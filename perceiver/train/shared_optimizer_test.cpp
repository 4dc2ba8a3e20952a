#include "perceiver/train/shared_optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/ranks/ranks_test.h"

namespace perceiver {
namespace {

std::vector<NamedParameter> parameters() {
  std::vector<NamedParameter> all;
  for (const int64_t rows : {7, 100, 3, 40, 60, 1, 100}) {
    all.push_back({fmt::format("part{}.weight", all.size()), at::ones({rows, 10})});
  }
  return all;
}

int64_t bytes_of(const NamedTensors& tensors) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

TEST(OwnersOf, TheLargestGoToWhoeverHasLeast) {
  std::vector<Tensor> values;
  for (const NamedParameter& parameter : parameters()) values.push_back(parameter.value);
  EXPECT_EQ(owners_of(values, 3), (std::vector<int64_t>{0, 0, 1, 2, 2, 2, 1}));
  EXPECT_EQ(owners_of(values, 1), std::vector<int64_t>(7, 0));
}

TEST(SharedOptimizer, EachRankHoldsItsShare) {
  const int64_t all = bytes_of(SharedOptimizer(parameters(), {}, nullptr).own_state());
  EXPECT_EQ(all, 2 * 4 * 3110);
  std::vector<NamedTensors> own(3);
  as_ranks(3, [&](Ranks& ranks) {
    const SharedOptimizer optimizer(parameters(), {.shard_optimizer = true}, &ranks);
    own[ranks.rank()] = optimizer.own_state();
    const NamedTensors whole = optimizer.gather_state();
    EXPECT_EQ(bytes_of(whole), ranks.is_first() ? all : 0);
    EXPECT_EQ(bytes_of(SharedOptimizer(parameters(), {}, &ranks).own_state()), all);
  });
  std::map<std::string, int> held;
  for (const NamedTensors& one : own) {
    EXPECT_LT(bytes_of(one), 0.36 * static_cast<double>(all));
    for (const auto& [name, tensor] : one) ++held[name];
  }
  EXPECT_EQ(held.size(), 14u);
  for (const auto& [name, times] : held) EXPECT_EQ(times, 1) << name;
}

// What the first has read reaches whoever keeps it.
TEST(SharedOptimizer, AStateIsTakenOverByAll) {
  TensorMap whole;
  for (const NamedParameter& parameter : parameters()) {
    whole["first." + parameter.name] = at::rand_like(parameter.value);
    whole["second." + parameter.name] = at::rand_like(parameter.value);
  }
  for (const bool shares : {false, true}) {
    as_ranks(3, [&](Ranks& ranks) {
      SharedOptimizer optimizer(parameters(), {.shard_optimizer = shares}, &ranks);
      if (ranks.is_first()) {
        TensorMap damaged = whole;
        damaged.erase("second.part3.weight");
        EXPECT_EQ(optimizer.take_state(damaged), "second.part3.weight");
        EXPECT_EQ(optimizer.take_state(whole), "");
      }
      optimizer.spread_state();
      for (const auto& [name, tensor] : optimizer.own_state()) {
        EXPECT_TRUE(tensor.equal(whole.at(name))) << name;
      }
      for (const auto& [name, tensor] : optimizer.gather_state()) {
        EXPECT_TRUE(!ranks.is_first() || tensor.equal(whole.at(name))) << name;
      }
    });
  }
}

}  // namespace
}  // namespace perceiver
