#include "perceiver/tasks/selection.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/error_test.h"

namespace perceiver {
namespace {

constexpr FrameSize kFrame{.height = 4, .width = 6};

TEST(Selection, NumbersCountFromOneAndRangesIncludeTheirEnds) {
  EXPECT_EQ(parse_numbers("3,5-7", 9, "--words", "words"), (std::vector<int64_t>{2, 4, 5, 6}));
  EXPECT_EQ(error_of([] { parse_numbers("0", 9, "--words", "words"); }),
            "--words 0: there are 9 words, counted from 1");
  EXPECT_EQ(error_of([] { parse_numbers("7-5", 9, "--words", "words"); }),
            "--words 7-5: there are 9 words, counted from 1");
  EXPECT_EQ(error_of([] { parse_numbers("1-2-3", 9, "--words", "words"); }),
            "--words: expected numbers and ranges such as 3,5-7, got '1-2-3'");
}

TEST(Selection, ABoxHasThePixelsBetweenItsCornersRowByRow) {
  EXPECT_TRUE(parse_box("1,2,3,4", kFrame).pixels(6).equal(at::tensor({13, 14, 19, 20})));
  EXPECT_TRUE(parse_box("", kFrame).pixels(6).equal(at::arange(24)));
  EXPECT_EQ(error_of([] { parse_box("0,0,7,4", kFrame); }),
            "--box 0,0,7,4: reaches out of the frame of 6 x 4");
}

TEST(Selection, PixelsAreCountedFromZeroAlongTheRows) {
  const std::vector<Pixel> pixels = parse_pixels({"5,0", "0,3"}, kFrame);
  EXPECT_TRUE(flat_indices(pixels, kFrame).equal(at::tensor({5, 18})));
  EXPECT_EQ(error_of([] { parse_pixels({"6,0"}, kFrame); }),
            "--pixels 6,0: is not in the frame of 6 x 4, counted from 0");
}

TEST(Selection, SecondsLieWithinTheClip) {
  EXPECT_EQ(parse_seconds("0.1-0.4", 0.4).end, 0.4);
  EXPECT_EQ(error_of([] { parse_seconds("0.1-0.5", 0.4); }),
            "--seconds 0.1-0.5: the clip lasts 0.40 s");
  EXPECT_EQ(error_of([] { parse_seconds("0.4-0.1", 1); }),
            "--seconds: expected a beginning and an end such as 0.1-0.4, got '0.4-0.1'");
}

}  // namespace
}  // namespace perceiver
