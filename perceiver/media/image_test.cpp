#include "perceiver/media/image.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/media/media_test.h"
#include "perceiver/media/ppm.h"
#include "perceiver/media/reading_limits.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

Tensor decode_golden(const std::string& name) { return decode_image(golden(name)); }

int64_t largest_difference(const Tensor& a, const Tensor& b) {
  return (a.to(at::kInt) - b.to(at::kInt)).abs().max().item<int64_t>();
}

std::string error_in(const std::string& bytes) {
  return error_of([&] { decode_image(File{"x", bytes}); });
}

// uint8 [C, 5, 7], all values different from their neighbours
Tensor drawn(int64_t channels) {
  return at::arange(channels * 35).mul(37).remainder(256).to(at::kByte).view({channels, 5, 7});
}

TEST(Png, WhatIsWrittenIsReadBack) {
  EXPECT_TRUE(decode_image({"x", encode_png(drawn(3))}).equal(drawn(3)));
  EXPECT_TRUE(decode_image_with_alpha({"x", encode_png(drawn(4))}).equal(drawn(4)));
  EXPECT_TRUE(decode_image({"x", encode_png(drawn(4))}).equal(drawn(4).narrow(0, 0, 3)));
  EXPECT_TRUE(decode_image({"x", encode_png(drawn(1))}).equal(drawn(1).expand({3, 5, 7})));
  EXPECT_TRUE(
      decode_image({"x", encode_png(drawn(3).transpose(1, 2))}).equal(drawn(3).transpose(1, 2)));
}

TEST(Png, OtherShapesAndTypesAreRefused) {
  EXPECT_EQ(error_of([] {
              encode_png(at::zeros({2, 5, 7}, at::kByte));
            }),
            "picture has shape [2, 5, 7], expected [1, H, W], [3, H, W] or [4, H, W]");
  EXPECT_EQ(error_of([] {
              encode_png(at::zeros({3, 0, 7}, at::kByte));
            }),
            "picture has shape [3, 0, 7], expected [1, H, W], [3, H, W] or [4, H, W]");
  EXPECT_EQ(error_of([] {
              encode_png(at::zeros({3, 5, 7}));
            }),
            "picture has elements of type Float, expected uint8");
}

TEST(Png, OddOnesAreWhatPillowSees) {
  for (const std::string name :
       {"grey16", "rgb16", "palette", "one_bit", "grey_alpha", "interlaced"}) {
    const Tensor expected = decode_image_with_alpha(golden(name + ".expected.png"));
    EXPECT_TRUE(decode_image_with_alpha(golden(name + ".png")).equal(expected)) << name;
    EXPECT_TRUE(decode_golden(name + ".png").equal(expected.narrow(0, 0, 3))) << name;
  }
}

TEST(Png, BrokenOnesAreNamed) {
  const std::string bytes = encode_png(drawn(3));
  EXPECT_EQ(error_in(bytes.substr(0, bytes.size() - 1)), "x: broken PNG: cut short");
  std::string flipped = bytes;
  flipped[20] ^= 1;
  EXPECT_EQ(error_in(flipped), "x: broken PNG: IHDR: CRC error");
}

TEST(Png, EveryTruncationIsAnErrorAndEveryFlippedBitAnErrorOrAnAnswer) {
  for (const char* name : {"palette.png", "interlaced.png", "grey16.png"}) {
    expect_truncations_fail(golden(name).bytes, decode_image);
    flip_every_bit(golden(name).bytes, decode_image);
  }
}

TEST(Jpeg, IsTurnedAsItsExifSays) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string name = fmt::format("orientation{}", orientation);
    // Pillow's wheel brings a libjpeg of its own: their inverse transforms round differently.
    EXPECT_LE(
        largest_difference(decode_golden(name + ".jpg"), decode_golden(name + ".expected.png")), 3)
        << name;
  }
}

TEST(Jpeg, GreyAndProgressiveOnesAreWhatPillowSees) {
  for (const std::string name : {"grey", "progressive"}) {
    EXPECT_LE(
        largest_difference(decode_golden(name + ".jpg"), decode_golden(name + ".expected.png")), 3)
        << name;
  }
}

TEST(Jpeg, CmykIsRefused) {
  EXPECT_EQ(error_in(golden("cmyk.jpg").bytes),
            "x: JPEG in CMYK, expected grey, YCbCr or RGB; convert it to RGB");
  std::string ycck = golden("cmyk.jpg").bytes;
  ycck[ycck.find("Adobe") + 11] = 2;  // the transform of the APP14 segment
  EXPECT_EQ(error_in(ycck), "x: JPEG in YCCK, expected grey, YCbCr or RGB; convert it to RGB");
}

TEST(Jpeg, BrokenOnesAreNamed) {
  std::string bytes = golden("grey.jpg").bytes;
  EXPECT_EQ(error_in(bytes.substr(0, bytes.size() - 1)),
            "x: broken JPEG: premature end of JPEG file");
  const size_t frame = bytes.find("\xff\xc0"s);
  bytes[frame + 5] = bytes[frame + 7] = '\x20';  // the upper bytes of height and width
  EXPECT_EQ(error_in(bytes),
            fmt::format("x: broken JPEG: 8216 x 8208 pixels do not fit in {} bytes", bytes.size()));
  bytes[frame + 5] = bytes[frame + 7] = '\xff';
  EXPECT_EQ(error_in(bytes),
            "x: picture of 65304 x 65296 pixels, more than the 268435456 that are read");
}

TEST(Jpeg, EveryTruncationIsAnErrorAndEveryFlippedBitAnErrorOrAnAnswer) {
  for (const char* name : {"orientation6.jpg", "progressive.jpg"}) {
    expect_truncations_fail(golden(name).bytes, decode_image);
    flip_every_bit(golden(name).bytes, decode_image);
  }
}

TEST(Ppm, ColourAndGreyWithComments) {
  const Tensor pixels = drawn(3);
  const Tensor rows = pixels.permute({1, 2, 0}).contiguous();
  const std::string data(static_cast<const char*>(rows.data_ptr()), rows.numel());
  EXPECT_TRUE(decode_image({"x", "P6\n# a comment\n7 #another\n5\n255\n" + data}).equal(pixels));
  EXPECT_TRUE(decode_image({"x", "P6 7 5 255 " + data + "more"}).equal(pixels));
  EXPECT_TRUE(
      decode_image({"x", "P5 7 15 255\n" + data}).equal(rows.view({1, 15, 7}).expand({3, 15, 7})));
}

TEST(Ppm, OtherLargestValuesAreScaledTo255) {
  const auto grey = [](const std::string& bytes) { return decode_image({"x", bytes})[0][0]; };
  EXPECT_TRUE(grey("P5 3 1 15\n\x00\x08\x0f"s).equal(at::tensor({0, 136, 255}, at::kByte)));
  EXPECT_TRUE(grey("P5 2 1 65535\n\x12\x34\xff\xff"s).equal(at::tensor({0x12, 255}, at::kByte)));
  EXPECT_TRUE(grey("P5 2 1 1000\n\x01\xf4\x03\xe8"s).equal(at::tensor({128, 255}, at::kByte)));
}

TEST(Ppm, WhatIsWrittenIsReadBack) {
  const Tensor pixels = at::arange(2 * 5 * 3, at::kByte).view({3, 2, 5});
  EXPECT_TRUE(decode_image({"x", encode_ppm(pixels)}).equal(pixels));
}

TEST(Ppm, BrokenOnesAreNamed) {
  EXPECT_EQ(error_in("P5 3 1 255\nab"), "x: broken PPM: 2 bytes of pixels, expected 3; cut short?");
  EXPECT_EQ(error_in("P5 3 a 255\nabc"), "x: broken PPM: byte 5: expected the height");
  EXPECT_EQ(error_in("P5 3 1 0\nabc"), "x: broken PPM: largest value 0, expected 1 to 65535");
  EXPECT_EQ(error_in("P5 3 1 255#"),
            "x: broken PPM: byte 10: expected white space before the pixels");
  EXPECT_EQ(error_in("P5 3 1 15\nabc"), "x: broken PPM: value 99 above the largest, 15");
  EXPECT_EQ(error_in("P5 0 1 15\n"), "x: picture of 0 x 1 pixels");
  EXPECT_EQ(error_in("P5 9999999999 9999999999 15\n"),
            "x: picture of 9999999999 x 9999999999 pixels, more than the 268435456 that are read");
}

TEST(Ppm, EveryTruncationIsAnErrorAndEveryFlippedBitAnErrorOrAnAnswer) {
  const std::string bytes = "P6\n# comment\n2 1\n255\nabcdef";
  expect_truncations_fail(bytes, decode_image);
  flip_every_bit(bytes, decode_image);
}

TEST(Image, OtherFilesAreNoPictures) {
  EXPECT_EQ(error_of([] {
              decode_image({"x.png", "hello there"});
            }),
            "x.png: not a picture: expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
  EXPECT_EQ(error_of([] { decode_image({"x.png", ""}); }), "x.png: is empty, expected a picture");
}

TEST(Image, HugePicturesAreRefusedBeforeMemoryIsTaken) {
  // The chunk that has width and height, and its checksum, which libpng looks at first.
  const auto with_header = [](const std::string& header) {
    std::string bytes = encode_png(drawn(1));
    return bytes.replace(12, header.size(), header);
  };
  EXPECT_EQ(error_in(with_header("IHDR\0\0\x40\0\0\0\x40\0\x08\0\0\0\0\x8c\xa3\x4f\x58"s)),
            "x: broken PNG: 16384 x 16384 pixels do not fit in 78 bytes");
  EXPECT_EQ(error_in(with_header("IHDR\0\0\x80\0\0\0\x80\0\x08\0\0\0\0\xe1\x17\xfc\xa3"s)),
            "x: picture of 32768 x 32768 pixels, more than the 268435456 that are read");
  // Ten gigabytes, of a file of two megabytes.
  EXPECT_EQ(error_in(with_header("IHDR\0\0\x40\0\0\0\x40\0\x10\0\0\0\0\xdc\x33\x93\x1b"s)),
            "x: picture of 16384 x 16384 pixels of 16 bits, more than the 33554432 that are read");
}

TEST(Image, AProgramMayReadSmallerOnesAlone) {
  most_pixels_read = 5;
  EXPECT_EQ(error_in(encode_png(at::zeros({1, 2, 3}, at::kByte))),
            "x: picture of 3 x 2 pixels, more than the 5 that are read");
  most_pixels_read = kMaxPixels;
  EXPECT_EQ(error_in(encode_png(at::zeros({1, 2, 3}, at::kByte))), "no error");
}

TEST(Image, EndingsAreKnownInAnyCase) {
  for (const char* name : {"a.png", "b/c.JPG", "d.JPEG", "e.ppm", "f.Pgm"}) {
    EXPECT_TRUE(has_image_ending(name)) << name;
  }
  for (const char* name : {"a.mp4", "png", ".png", "a.png.part"}) {
    EXPECT_FALSE(has_image_ending(name)) << name;
  }
}

TEST(Image, PicturesOfAFolderComeInTheOrderOfTheirNames) {
  const std::filesystem::path folder = empty_folder("images_in");
  EXPECT_EQ(error_of([&] { images_in(folder); }),
            folder.string() +
                ": no picture in it, expected PNG, JPEG, PPM, WebP, GIF, BMP, TIFF or AVIF");
  for (const char* name : {"b.png", "a.JPG", "notes.txt", "10.ppm"}) write_file(folder / name, "");
  EXPECT_EQ(images_in(folder), (std::vector<std::filesystem::path>{
                                   folder / "10.ppm", folder / "a.JPG", folder / "b.png"}));
  EXPECT_EQ(error_of([&] { images_in(folder / "nope"); }),
            (folder / "nope").string() + ": no such folder");
}

}  // namespace
}  // namespace perceiver
