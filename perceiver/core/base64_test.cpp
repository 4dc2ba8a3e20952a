#include "perceiver/core/base64.h"

#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(Base64, ComesBackAtEveryLength) {
  std::string bytes;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(base64_bytes(base64_text(bytes)), bytes);
    bytes.push_back(static_cast<char>(250 + i));
  }
  EXPECT_EQ(base64_text("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
  EXPECT_EQ(base64_bytes("YQ"), "a");
  EXPECT_EQ(base64_bytes("YW\n9i"), "aob");
  EXPECT_EQ(base64_bytes("Y"), std::nullopt);
  EXPECT_EQ(base64_bytes("Y-=="), std::nullopt);
}

}  // namespace
}  // namespace perceiver
