#include "perceiver/media/paint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/media/media_test.h"

namespace perceiver {
namespace {

Tensor grey(const Tensor& picture) {
  const Tensor weights = at::tensor({0.299f, 0.587f, 0.114f}).view({3, 1, 1});
  return (picture.to(at::kFloat) * weights).sum(0);
}

Tensor one_colour(int64_t height, int64_t width, int64_t value) {
  return at::full({3, height, width}, value, at::kByte);
}

TEST(HeatColours, GrowBrighterFromDarkVioletToLightYellow) {
  const Tensor colours = heat_colours(at::linspace(0, 1, 64).unsqueeze(0));
  EXPECT_EQ(colours.sizes(), (std::vector<int64_t>{3, 1, 64}));
  const Tensor steps = grey(colours)[0].diff();
  EXPECT_GT(steps.min().item<float>(), 0.0f);
  const auto colour = [&](int64_t at) { return colours.select(2, at).flatten(); };
  EXPECT_TRUE(colour(0).equal(at::tensor({12, 7, 42}, at::kByte)));
  EXPECT_TRUE(colour(63).equal(at::tensor({252, 250, 190}, at::kByte)));
}

TEST(HeatColours, OutsideTheRangeAreThoseOfItsEnds) {
  const Tensor values = at::tensor({-1.f, 0.f, 1.f, 7.f}).unsqueeze(0);
  const Tensor colours = heat_colours(values);
  EXPECT_TRUE(colours.select(2, 0).equal(colours.select(2, 1)));
  EXPECT_TRUE(colours.select(2, 2).equal(colours.select(2, 3)));
}

TEST(HeatMap, ShowsThePictureWhereValuesAreZeroAndCellsAsCells) {
  const Tensor picture = at::arange(3 * 8 * 6).view({3, 8, 6}).to(at::kByte);
  const Tensor values = at::tensor({0.f, 3.f, 0.f, 1.f}).view({2, 2});
  const Tensor map = heat_map(picture, values);
  EXPECT_EQ(map.sizes(), picture.sizes());
  const Tensor left = map.narrow(1, 0, 4).narrow(2, 0, 3),
               seen = picture.narrow(1, 0, 4).narrow(2, 0, 3);
  EXPECT_TRUE(left[0].equal(left[2]));  // grey
  EXPECT_TRUE(at::allclose(left[0].to(at::kFloat), seen.to(at::kFloat).mean(0) * 0.6, 0, 0.51));
  // The picture's brightness still differs in a cell, by a quarter where the value is the largest.
  const Tensor hot = grey(map.narrow(1, 0, 4).narrow(2, 3, 3));
  EXPECT_GT(hot.min().item<float>(), 150.0f);
  EXPECT_LT(hot.max().item<float>() - hot.min().item<float>(), 15.0f);
}

TEST(HeatMap, OfNothingIsThePicture) {
  const Tensor map = heat_map(one_colour(4, 4, 100), at::zeros({2, 2}));
  EXPECT_TRUE(map.equal(one_colour(4, 4, 60)));
}

TEST(Beside, PutsAWhiteGapBetween) {
  const Tensor row = beside({one_colour(2, 3, 1), one_colour(2, 4, 2)}, 2);
  EXPECT_TRUE(row[0][1].equal(at::tensor({1, 1, 1, 255, 255, 2, 2, 2, 2}, at::kByte)));
  EXPECT_EQ(beside({one_colour(2, 3, 1), one_colour(2, 4, 2)}).size(2), 7);
  EXPECT_EQ(error_of([] {
              beside({one_colour(2, 3, 1), one_colour(3, 3, 2)});
            }),
            "pictures beside each other have heights 2 and 3, expected one");
  EXPECT_EQ(error_of([] { beside({}); }), "no pictures to put together");
}

TEST(Below, PutsAWhiteGapBetween) {
  const Tensor column = below({one_colour(2, 3, 1), one_colour(1, 3, 2)}, 1);
  EXPECT_TRUE(column[0].select(1, 0).equal(at::tensor({1, 1, 255, 2}, at::kByte)));
  EXPECT_EQ(error_of([] {
              below({one_colour(2, 3, 1), one_colour(2, 4, 2)});
            }),
            "pictures below each other have widths 3 and 4, expected one");
}

TEST(ContactSheet, FillsItsLastRowWithWhite) {
  const std::vector<Tensor> three = {one_colour(2, 3, 1), one_colour(2, 3, 2), one_colour(2, 3, 3)};
  const Tensor sheet = contact_sheet(three, 2, 1);
  EXPECT_EQ(sheet.sizes(), (std::vector<int64_t>{3, 5, 7}));
  EXPECT_EQ(sheet[0][4][0].item<int64_t>(), 3);
  EXPECT_EQ(sheet[0][4][6].item<int64_t>(), 255);
  EXPECT_EQ(contact_sheet(three, 5, 1).sizes(), (std::vector<int64_t>{3, 2, 11}));
  EXPECT_EQ(error_of([&] { contact_sheet(three, 0); }),
            "a contact sheet of 0 columns, expected at least 1");
}

}  // namespace
}  // namespace perceiver
