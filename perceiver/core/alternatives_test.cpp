#include "perceiver/core/alternatives.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

using Words = std::vector<std::string>;

TEST(Alternatives, CommasSeparateUnlessSomethingIsAroundThem) {
  EXPECT_EQ(alternatives_of("16,32, 64"), (Words{"16", "32", "64"}));
  EXPECT_EQ(alternatives_of("16"), Words{"16"});
  EXPECT_EQ(alternatives_of(R"(["cola"],["rte"])"), (Words{R"(["cola"])", R"(["rte"])"}));
  EXPECT_EQ(alternatives_of(R"(["cola","rte"])"), Words{R"(["cola","rte"])"});
  EXPECT_EQ(alternatives_of(R"('a,b',"c,\",d",e)"), (Words{"'a,b'", R"("c,\",d")", "e"}));
  EXPECT_EQ(alternatives_of("{a=1,b=[1,2]},{a=2}"), (Words{"{a=1,b=[1,2]}", "{a=2}"}));
}

TEST(Alternatives, WhatIsNotClosedIsOneAlternative) {
  for (const char* text : {"[1,2", "'a,b", "\"a,b\\\"", "{a=1,b=2", "1],2"}) {
    EXPECT_EQ(alternatives_of(text), Words{text});
  }
}

}  // namespace
}  // namespace perceiver
