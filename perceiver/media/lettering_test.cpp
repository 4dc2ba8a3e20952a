#include "perceiver/media/lettering.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace perceiver {
namespace {

TEST(Lettering, EveryCharacterHasAFormOfItsOwn) {
  const std::string characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,-+%/";
  for (const char a : characters) {
    const Tensor ink = lettering(std::string(1, a));
    ASSERT_EQ(ink.sizes(), (std::vector<int64_t>{7, 5})) << a;
    EXPECT_TRUE(ink.any().item<bool>()) << a;
    for (const char b : characters) {
      EXPECT_EQ(ink.equal(lettering(std::string(1, b))), a == b) << a << " and " << b;
    }
  }
}

TEST(Lettering, IsMirroredWhereALetterIs) {
  for (const char* letter : {"A", "H", "I", "M", "O", "T", "U", "V", "W", "X", "Y", "8"}) {
    EXPECT_TRUE(lettering(letter).equal(lettering(letter).flip({1}))) << letter;
  }
}

TEST(Lettering, OfSeveralCharactersStandsSideBySideInTheScaleAskedFor) {
  const Tensor word = lettering("a b", 2);
  ASSERT_EQ(word.sizes(), (std::vector<int64_t>{14, 34}));
  EXPECT_TRUE(word.narrow(1, 0, 10).equal(lettering("A", 2)));
  EXPECT_FALSE(word.narrow(1, 10, 14).any().item<bool>());
  EXPECT_TRUE(word.narrow(1, 24, 10).equal(lettering("B", 2)));
}

TEST(WithText, LeavesThePictureWhereThereIsNoRoom) {
  const Tensor picture = at::full({3, 20, 40}, 9, at::kByte);
  EXPECT_TRUE(with_text(picture, "much too long for it", 20, 40).equal(picture));
  const Tensor with = with_text(picture, "7", 20, 40);
  EXPECT_TRUE(with.narrow(1, 0, 9).equal(picture.narrow(1, 0, 9)));
  EXPECT_TRUE(with.narrow(2, 0, 31).equal(picture.narrow(2, 0, 31)));
  const Tensor ink = with[0].slice(0, 11, 18).slice(1, 33, 38).eq(0);
  EXPECT_TRUE(ink.equal(lettering("7")));
}

TEST(Captioned, IsThePictureBelowItsCaptionHoweverNarrow) {
  for (const int64_t width : {3, 60, 300}) {
    const Tensor picture = at::full({3, 10, width}, 9, at::kByte);
    const Tensor with = captioned(picture, "24 latents");
    ASSERT_EQ(with.sizes(), (std::vector<int64_t>{3, 30, width}));
    EXPECT_TRUE(with.narrow(1, 20, 10).equal(picture));
  }
}

}  // namespace
}  // namespace perceiver
