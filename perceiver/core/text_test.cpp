#include "perceiver/core/text.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(Text, NumbersAreGroupedByThousands) {
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(182528), "182,528");
  EXPECT_EQ(grouped(1000007), "1,000,007");
  EXPECT_EQ(array(2048, 512), "2,048 x 512");
}

TEST(Text, ColumnsOfATableAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(table({{"pair", "error"}, {"objects", "2.5 px"}, {"x", ""}}),
            "  pair      error\n"
            "  objects  2.5 px\n"
            "  x\n");
}

}  // namespace
}  // namespace perceiver
