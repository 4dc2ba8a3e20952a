#include "perceiver/serve/latents_store.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

class LatentsStoreTest : public testing::Test {
 protected:
  // 400 bytes.
  static LatentsFile latents() {
    return {.task = "t",
            .model = "m",
            .fingerprint = "f",
            .input = "i",
            .arrays = {{"latents", at::zeros({1, 10, 10})}}};
  }
  std::string keep() { return store.keep(0, latents(), 0.1)->id; }
  void pass(double seconds) {
    now += std::chrono::duration_cast<LatentsStore::Clock::duration>(
        std::chrono::duration<double>(seconds));
  }

  LatentsStore::Clock::time_point now = {};
  LatentsStore store{1000, 60.0, [this] { return now; }};
};

TEST_F(LatentsStoreTest, IdsAreLongAndNoTwoAreEqual) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(new_id());
  EXPECT_EQ(ids.size(), 1000u);
  for (const std::string& id : ids) ASSERT_EQ(id.size(), 32u);
}

TEST_F(LatentsStoreTest, TheOneNobodyHasAskedForLongestMakesRoom) {
  const std::string first = keep();
  pass(1);
  const std::string second = keep();
  pass(1);
  EXPECT_NE(store.find(first, /*ask=*/true), nullptr);
  pass(1);
  const std::string third = keep();
  EXPECT_NE(store.find(first, false), nullptr);
  EXPECT_EQ(store.find(second, false), nullptr);
  EXPECT_NE(store.find(third, false), nullptr);
  EXPECT_EQ(store.bytes(), 800);
}

TEST_F(LatentsStoreTest, TheyGoAMinuteAfterTheyWereAskedAndToLookIsNotToAsk) {
  const std::string id = keep();
  pass(59);
  EXPECT_NE(store.find(id, /*ask=*/true), nullptr);
  pass(40);
  EXPECT_NE(store.find(id, /*ask=*/false), nullptr);
  EXPECT_NEAR(store.seconds_left(id), 20.0, 1e-6);
  pass(21);
  EXPECT_EQ(store.find(id, true), nullptr);
  EXPECT_EQ(store.count(), 0);
  EXPECT_EQ(store.bytes(), 0);
}

TEST_F(LatentsStoreTest, WhoAsksMeanwhileKeepsWhatIsForgotten) {
  const std::string id = keep();
  const auto kept = store.find(id, true);
  EXPECT_TRUE(store.forget(id));
  EXPECT_FALSE(store.forget(id));
  EXPECT_EQ(kept->file.latents().numel(), 100);
}

TEST_F(LatentsStoreTest, WhatFitsNowhereIsRefused) {
  LatentsFile large = latents();
  large.arrays["latents"] = at::zeros({1, 10, 26});
  EXPECT_EQ(error_of([&] { store.keep(0, large, 0.0); }),
            "the latents take 1040 bytes, the server keeps 1000 at most (--latents-mib)");
}

}  // namespace
}  // namespace perceiver
