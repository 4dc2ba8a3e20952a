#include "perceiver/tasks/imagenet/randaugment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace perceiver {
namespace {

// Rows of one channel, three times.
Tensor picture(const std::vector<std::vector<int64_t>>& rows) {
  std::vector<Tensor> tensors;
  for (const auto& row : rows) tensors.push_back(at::tensor(row, at::kByte));
  return at::stack(tensors).expand({3, -1, -1}).contiguous();
}

Tensor random_picture(int64_t height, int64_t width) {
  return at::randint(256, {3, height, width}, at::kByte);
}

// Every level once: 16 x 16.
Tensor all_levels() {
  return at::arange(256, at::kByte).view({16, 16}).expand({3, -1, -1}).contiguous();
}

std::vector<int64_t> values(const Tensor& pixels) {
  const Tensor channel = pixels[0].flatten().to(at::kLong);
  return {channel.data_ptr<int64_t>(), channel.data_ptr<int64_t>() + channel.numel()};
}

using Values = std::vector<int64_t>;

TEST(AutoContrast, StretchesEachChannelToAllLevels) {
  EXPECT_EQ(values(auto_contrast(picture({{50, 60}, {75, 100}}))), (Values{0, 51, 127, 255}));
  Tensor two = picture({{0, 255}});
  two[1] = at::tensor({10, 20}, at::kByte);
  EXPECT_TRUE(auto_contrast(two).equal(picture({{0, 255}})));
  EXPECT_TRUE(auto_contrast(all_levels()).equal(all_levels()));
}

TEST(AutoContrast, LeavesASingleLevelAsItIs) {
  EXPECT_EQ(values(auto_contrast(picture({{7, 7}}))), (Values{7, 7}));
}

TEST(Equalize, LeavesEquallyFrequentLevelsAsTheyAre) {
  EXPECT_TRUE(equalize(all_levels()).equal(all_levels()));
}

// 255 pixels below the highest level, so a step of one: each level goes to the pixels below it.
TEST(Equalize, MapsALevelToTheShareOfPixelsBelowIt) {
  const Tensor pixels =
      at::cat({at::full({3, 1, 100}, 10, at::kByte), at::full({3, 1, 155}, 20, at::kByte),
               at::full({3, 1, 50}, 30, at::kByte)},
              2);
  const Tensor equalized = equalize(pixels);
  EXPECT_EQ(equalized[0][0][0].item<int64_t>(), 0);
  EXPECT_EQ(equalized[0][0][100].item<int64_t>(), 100);
  EXPECT_EQ(equalized[0][0][255].item<int64_t>(), 255);
}

TEST(Equalize, LeavesFewPixelsAsTheyAre) {  // fewer than levels: no step to take
  const Tensor pixels = random_picture(8, 8);
  EXPECT_TRUE(equalize(pixels).equal(pixels));
}

TEST(Invert, TwiceIsNothing) {
  const Tensor pixels = random_picture(5, 7);
  EXPECT_TRUE(invert(invert(pixels)).equal(pixels));
  EXPECT_EQ(values(invert(picture({{0, 100, 255}}))), (Values{255, 155, 0}));
}

TEST(Posterize, KeepsTheUpperBits) {
  const Tensor pixels = picture({{255, 130, 64, 63}});
  EXPECT_EQ(values(posterize(pixels, 2)), (Values{192, 128, 64, 0}));
  EXPECT_TRUE(posterize(pixels, 8).equal(pixels));
  EXPECT_EQ(values(posterize(pixels, 0)), (Values{0, 0, 0, 0}));
}

TEST(Solarize, InvertsFromTheThresholdUp) {
  EXPECT_EQ(values(solarize(picture({{0, 127, 128, 255}}), 128)), (Values{0, 127, 127, 0}));
  EXPECT_TRUE(solarize(all_levels(), 0).equal(invert(all_levels())));
  EXPECT_TRUE(solarize(all_levels(), 256).equal(all_levels()));
}

TEST(SolarizeAdd, RaisesTheDarkHalf) {
  EXPECT_EQ(values(solarize_add(picture({{0, 127, 128, 255}}), 55)), (Values{55, 182, 128, 255}));
  EXPECT_EQ(values(solarize_add(picture({{127}}), 200)), (Values{255}));
}

TEST(Enhancements, LeaveThePictureAtFactorOne) {
  const Tensor pixels = random_picture(6, 5);
  for (const auto operation : {color, contrast, brightness, sharpness}) {
    EXPECT_TRUE(operation(pixels, 1.0).equal(pixels));
  }
}

TEST(Color, GoesToTheGreysOfThePicture) {
  const Tensor red = at::tensor({200, 0, 0}, at::kByte).view({3, 1, 1});
  EXPECT_TRUE(color(red, 0.0).equal(at::full({3, 1, 1}, 60, at::kByte)));  // 0.2989 * 200 = 59.8
  const Tensor more = color(red, 1.5).to(at::kLong).flatten();
  EXPECT_TRUE(more.equal(at::tensor({255, 0, 0}, at::kLong)));
  const Tensor half = color(red, 0.5).to(at::kLong).flatten();
  EXPECT_TRUE(half.equal(at::tensor({130, 30, 30}, at::kLong)));
}

TEST(Contrast, GoesToTheMeanGrey) {
  const Tensor pixels = picture({{100, 200}});
  EXPECT_EQ(values(contrast(pixels, 0.0)), (Values{150, 150}));
  EXPECT_EQ(values(contrast(pixels, 1.5)), (Values{75, 225}));
}

TEST(Brightness, GoesToBlack) {
  EXPECT_EQ(values(brightness(picture({{10, 101, 200}}), 0.5)), (Values{5, 50, 100}));
  EXPECT_EQ(values(brightness(picture({{10, 101, 200}}), 1.9)), (Values{19, 191, 255}));
}

TEST(Sharpness, GoesToNeighboursAndLeavesTheBorder) {
  const Tensor pixels = picture({{0, 0, 0}, {0, 130, 0}, {0, 0, 13}});
  EXPECT_EQ(values(sharpness(pixels, 0.0)), (Values{0, 0, 0, 0, 51, 0, 0, 0, 13}));  // 663 / 13
  EXPECT_EQ(values(sharpness(pixels, 1.5)), (Values{0, 0, 0, 0, 169, 0, 0, 0, 13}));
}

TEST(Translate, BringsPixelsFromTheRightAndGreyBehindThem) {
  const Tensor pixels = picture({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(values(translate(pixels, 1.0, 0.0)), (Values{2, 3, kGrey, 5, 6, kGrey}));
  EXPECT_EQ(values(translate(pixels, -1.0, 0.0)), (Values{kGrey, 1, 2, kGrey, 4, 5}));
  EXPECT_EQ(values(translate(pixels, 0.0, 1.0)), (Values{4, 5, 6, kGrey, kGrey, kGrey}));
  EXPECT_EQ(values(translate(pixels, 100.0, 0.0)), Values(6, kGrey));
}

TEST(Shear, MovesEachRowByItsNumber) {
  const Tensor column = picture({{1, 0, 0}, {1, 0, 0}, {1, 0, 0}});
  EXPECT_EQ(values(shear_x(column, -1.0)), (Values{1, 0, 0, kGrey, 1, 0, kGrey, kGrey, 1}));
  const Tensor transposed = shear_y(column.transpose(1, 2).contiguous(), -1.0);
  EXPECT_TRUE(transposed.equal(shear_x(column, -1.0).transpose(1, 2)));
  EXPECT_TRUE(shear_x(column, 0.0).equal(column));
}

TEST(Rotate, ByZeroIsNothingAndByAQuarterIsExact) {
  const Tensor pixels = random_picture(9, 9);
  EXPECT_TRUE(rotate(pixels, 0.0).equal(pixels));
  EXPECT_TRUE(rotate(pixels, 90.0).equal(pixels.rot90(1, {1, 2})));
  EXPECT_TRUE(rotate(pixels, -90.0).equal(pixels.rot90(-1, {1, 2})));
  EXPECT_TRUE(rotate(pixels, 45.0).select(1, 0).select(1, 0).eq(kGrey).all().item<bool>());
}

TEST(Cutout, IsAGreySquareAsFarAsItIsInside) {
  const Tensor pixels = at::zeros({3, 20, 30}, at::kByte);
  const auto grey = [](const Tensor& x) { return x.eq(kGrey).sum().item<int64_t>(); };
  EXPECT_EQ(grey(cutout(pixels, 10, 15, 4)), 3 * 8 * 8);
  EXPECT_EQ(grey(cutout(pixels, 0, 0, 4)), 3 * 4 * 4);
  EXPECT_EQ(grey(cutout(pixels, 19, 29, 4)), 3 * 5 * 5);
  EXPECT_EQ(grey(cutout(pixels, 10, 15, 0)), 0);
  EXPECT_EQ(grey(cutout(pixels, 10, 15, 100)), 3 * 20 * 30);
  EXPECT_EQ(cutout(pixels, 10, 15, 4)[0][6][11].item<int64_t>(), kGrey);
  EXPECT_EQ(cutout(pixels, 10, 15, 4)[0][14][11].item<int64_t>(), 0);
}

TEST(RandAugment, IsAFunctionOfItsRandomStream) {
  const Tensor pixels = random_picture(32, 32);
  int64_t changed = 0;
  for (uint64_t index = 0; index < 50; ++index) {
    Rng first(1, 0, index), second(1, 0, index);
    const Tensor augmented = randaugment(pixels, {}, first);
    EXPECT_TRUE(augmented.equal(randaugment(pixels, {}, second)));
    changed += !augmented.equal(pixels);
  }
  EXPECT_GT(changed, 45);
}

TEST(RandAugment, WithoutLayersIsNothing) {
  Rng rng(1);
  const Tensor pixels = random_picture(8, 8);
  EXPECT_TRUE(randaugment(pixels, {.layers = 0}, rng).equal(pixels));
}

// What one layer may make of a picture, but for Cutout, which may be anywhere.
std::vector<Tensor> outcomes(const Tensor& pixels, double level) {
  const double factor = level * 1.8 + 0.1;
  std::vector<Tensor> all = {auto_contrast(pixels),
                             equalize(pixels),
                             invert(pixels),
                             posterize(pixels, static_cast<int64_t>(level * 4.0)),
                             solarize(pixels, static_cast<int64_t>(level * 256.0)),
                             solarize_add(pixels, static_cast<int64_t>(level * 110.0)),
                             color(pixels, factor),
                             contrast(pixels, factor),
                             brightness(pixels, factor),
                             sharpness(pixels, factor)};
  for (const double sign : {-1.0, 1.0}) {
    all.push_back(rotate(pixels, sign * level * 30.0));
    all.push_back(shear_x(pixels, sign * level * 0.3));
    all.push_back(shear_y(pixels, sign * level * 0.3));
    all.push_back(translate(pixels, sign * level * 20.0, 0.0));
    all.push_back(translate(pixels, 0.0, sign * level * 20.0));
  }
  return all;
}

// The arguments are those of the released code, and all sixteen operations are drawn.
TEST(RandAugment, DrawsEachOperationWithItsMagnitude) {
  Tensor pixels = random_picture(32, 32);
  pixels.select(1, 0).fill_(0);  // there is no contrast to be won
  pixels.select(1, 1).fill_(255);
  for (const double magnitude : {5.0, 9.0}) {
    const RandAugmentConfig config{
        .layers = 1, .magnitude = magnitude, .translate = 20.0, .cutout = 8.0};
    const std::vector<Tensor> expected = outcomes(pixels, magnitude / 10.0);
    std::vector<int64_t> seen(expected.size());
    int64_t cutouts = 0;
    Rng rng(3);
    for (int i = 0; i < 600; ++i) {
      const Tensor augmented = randaugment(pixels, config, rng);
      const auto found = std::find_if(expected.begin(), expected.end(),
                                      [&](const Tensor& x) { return x.equal(augmented); });
      if (found != expected.end()) {
        ++seen[found - expected.begin()];
        continue;
      }
      const Tensor cut = augmented.ne(pixels);
      EXPECT_TRUE(augmented.masked_select(cut).eq(kGrey).all().item<bool>());
      const auto side = static_cast<int64_t>(magnitude / 10.0 * 8.0) * 2;
      EXPECT_LE(cut.any(0).sum().item<int64_t>(), side * side);
      ++cutouts;
    }
    EXPECT_NEAR(cutouts, 600 / 16, 30);  // five standard errors of 5.9
    // At magnitude 5 the four enhancements too are the picture itself.
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), magnitude == 5.0 ? 4 : 0);
  }
}

}  // namespace
}  // namespace perceiver
