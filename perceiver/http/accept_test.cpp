#include "perceiver/http/accept.h"

#include <gtest/gtest.h>

#include <vector>

namespace perceiver {
namespace {

const std::vector<std::string> kOffered = {"application/json", "image/png"};

TEST(Accept, TheBestOfWhatIsOfferedIsTaken) {
  EXPECT_EQ(best_type("", kOffered), "application/json");
  EXPECT_EQ(best_type("*/*", kOffered), "application/json");
  EXPECT_EQ(best_type("image/png", kOffered), "image/png");
  EXPECT_EQ(best_type("image/*, application/json;q=0.5", kOffered), "image/png");
  EXPECT_EQ(best_type("text/html,image/avif,*/*;q=0.8", kOffered), "application/json");
}

TEST(Accept, WhatIsClosestDecides) {
  EXPECT_EQ(best_type("*/*, application/json;q=0.1", kOffered), "image/png");
  EXPECT_EQ(best_type("image/png;q=0, */*;q=0.2", kOffered), "application/json");
}

TEST(Accept, NothingIsTakenWhereNothingPleases) {
  EXPECT_EQ(best_type("text/html", kOffered), "");
  EXPECT_EQ(best_type("image/png;q=0", kOffered), "");
  EXPECT_EQ(best_type(";;,,=", kOffered), "");
}

}  // namespace
}  // namespace perceiver
