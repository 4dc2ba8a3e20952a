#include "perceiver/core/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace perceiver {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
}

TEST(Crc32c, GoesOnFromAnyPlace) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t i = 0; i <= text.size(); ++i) {
    EXPECT_EQ(crc32c(text.substr(i), crc32c(text.substr(0, i))), crc32c(text)) << i;
  }
}

}  // namespace
}  // namespace perceiver
