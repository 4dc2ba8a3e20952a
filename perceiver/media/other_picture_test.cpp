// Pictures for FFmpeg's decoders, written here byte by byte after the formats' specifications.
#include "perceiver/media/other_picture.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/media/image.h"
#include "perceiver/media/media_test.h"
#include "perceiver/media/video.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

std::string little_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

std::string word(uint64_t value) { return little_endian(value, 2); }
std::string dword(uint64_t value) { return little_endian(value, 4); }

// uint8 [3, 2, 3], all values different
Tensor drawn() { return at::arange(18).mul(13).add(5).to(at::kByte).view({3, 2, 3}); }

uint8_t at(const Tensor& pixels, int64_t channel, int64_t y, int64_t x) {
  return pixels[channel][y][x].item<uint8_t>();
}

// 24 bits a pixel, rows from below, blue first, each filled up to four bytes.
std::string bmp(const Tensor& pixels) {
  const int64_t height = pixels.size(1), width = pixels.size(2);
  std::string rows;
  for (int64_t y = height; y-- > 0;) {
    for (int64_t x = 0; x < width; ++x) {
      for (const int channel : {2, 1, 0}) rows += static_cast<char>(at(pixels, channel, y, x));
    }
    while (rows.size() % 4) rows += '\0';
  }
  return "BM" + dword(54 + rows.size()) + dword(0) + dword(54) + dword(40) + dword(width) +
         dword(height) + word(1) + word(24) + dword(0) + dword(rows.size()) + dword(2835) +
         dword(2835) + dword(0) + dword(0) + rows;
}

// One strip without compression, with an orientation.
std::string tiff(const Tensor& pixels, int orientation = 1) {
  const int64_t height = pixels.size(1), width = pixels.size(2);
  std::string strip;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        strip += static_cast<char>(at(pixels, channel, y, x));
      }
    }
  }
  std::string entries;
  int count = 0;
  const auto add = [&](int tag, int type, uint32_t number, uint32_t value) {
    entries += word(tag) + word(type) + dword(number) + dword(value);
    ++count;
  };
  constexpr int kShort = 3, kLong = 4, kEntries = 10;
  const auto bits_at = static_cast<uint32_t>(8 + 2 + 12 * kEntries + 4);
  add(256, kLong, 1, width);
  add(257, kLong, 1, height);
  add(258, kShort, 3, bits_at);
  add(259, kShort, 1, 1);  // no compression
  add(262, kShort, 1, 2);  // RGB
  add(273, kLong, 1, bits_at + 6);
  add(274, kShort, 1, orientation);
  add(277, kShort, 1, 3);
  add(278, kLong, 1, height);
  add(279, kLong, 1, strip.size());
  EXPECT_EQ(count, kEntries);
  return "II*\0"s + dword(8) + word(count) + entries + dword(0) + word(8) + word(8) + word(8) +
         strip;
}

// Two pictures of two colours each; codes of three bits, started anew often enough that they stay
// so.
std::string gif(const std::string& first, const std::string& second) {
  const std::string palette = "\x0a\x14\x1e\xc8\xd2\xdc"s + "\xff\x00\x00\x00\x00\xff"s;
  const auto picture = [](const std::string& indices) {
    constexpr int kClear = 4, kEnd = 5;
    uint64_t bits = 0;
    int count = 0;
    const auto put = [&](uint64_t code) { bits |= code << (3 * count++); };
    for (size_t i = 0; i < indices.size(); ++i) {
      if (i % 2 == 0) put(kClear);
      put(indices[i] - '0');
    }
    put(kEnd);
    const int size = (3 * count + 7) / 8;
    return "," + word(0) + word(0) + word(3) + word(2) + "\0\2"s + static_cast<char>(size) +
           little_endian(bits, size) + "\0"s;
  };
  return "GIF89a" + word(3) + word(2) + "\x91\0\0"s + palette + picture(first) + picture(second) +
         ";";
}

// A lossless WebP of one colour: each of the five codes has a single symbol, which takes no bits.
std::string webp(int width, int height, const std::array<uint8_t, 4>& rgba) {
  std::string bytes;
  int count = 0;
  const auto put = [&](uint32_t value, int bits) {
    for (int i = 0; i < bits; ++i, ++count) {
      if (count % 8 == 0) bytes += '\0';
      bytes.back() = static_cast<char>(bytes.back() | (value >> i & 1) << count % 8);
    }
  };
  put(0x2f, 8);
  put(width - 1, 14);
  put(height - 1, 14);
  put(1, 1);  // has alpha
  put(0, 3);  // version
  put(0, 3);  // no transform, no colour cache, one set of codes
  for (const int symbol : {int{rgba[1]}, int{rgba[0]}, int{rgba[2]}, int{rgba[3]}, 0}) {
    put(1, 1);  // a simple code
    put(0, 1);  // of one symbol
    put(1, 1);  // of eight bits
    put(symbol, 8);
  }
  if (bytes.size() % 2) bytes += '\0';
  return "RIFF" + dword(12 + bytes.size()) + "WEBPVP8L" + dword(bytes.size()) + bytes;
}

std::string error_in(const std::string& bytes) {
  return error_of([&] { decode_image({"x", bytes}); });
}

class OtherPicture : public testing::Test {
 protected:
  void SetUp() override {
    if (!video_is_built_in()) GTEST_SKIP() << "built without FFmpeg's libraries";
  }
};

TEST_F(OtherPicture, BmpAndTiffAreReadToTheLastBit) {
  EXPECT_TRUE(decode_image({"x.png", bmp(drawn())}).equal(drawn()));
  EXPECT_TRUE(decode_image({"x.jpg", tiff(drawn())}).equal(drawn()));
}

TEST_F(OtherPicture, TiffIsTurnedAsItSays) {
  // 6: its rows are the columns of what is seen, from the right.
  const Tensor seen = drawn().transpose(1, 2).flip({2});
  EXPECT_TRUE(decode_image({"x", tiff(drawn(), 6)}).equal(seen));
}

TEST_F(OtherPicture, OfAnAnimatedGifItIsTheFirst) {
  const Tensor seen = decode_image({"x.gif", gif("010101", "222222")});
  const Tensor second_colour = at::tensor({0, 1, 0, 1, 0, 1}).view({1, 2, 3});
  const Tensor dark = at::tensor({10, 20, 30}).view({3, 1, 1});
  EXPECT_TRUE(seen.equal((dark + 190 * second_colour).to(at::kByte))) << seen;
}

TEST_F(OtherPicture, WebpHasItsColourAndItsAlpha) {
  const std::string bytes = webp(5, 4, {200, 100, 50, 128});
  const Tensor expected =
      at::tensor({200, 100, 50, 128}, at::kByte).view({4, 1, 1}).expand({4, 4, 5});
  EXPECT_TRUE(decode_image({"x", bytes}).equal(expected.narrow(0, 0, 3)));
  // FFmpeg's conversion rounds alpha up now and then.
  const Tensor seen = decode_image_with_alpha({"x", bytes});
  EXPECT_LE((seen.to(at::kInt) - expected.to(at::kInt)).abs().max().item<int>(), 1) << seen;
}

TEST_F(OtherPicture, WhatCannotBeReadSaysWhatToDo) {
  EXPECT_EQ(error_in("\0\0\0\x18"s + "ftypheic" + std::string(20, '\0')),
            "x: HEIC, which is not read; convert it to JPEG or PNG");
  EXPECT_EQ(error_in("RIFF" + dword(22) + "WEBPANIM" + dword(6) + std::string(6, '\0')),
            "x: animated WebP, which is not read; save one of its pictures as PNG");
  const std::string avif = error_in("\0\0\0\x18"s + "ftypavif" + std::string(12, '\0'));
  EXPECT_TRUE(avif.starts_with("x: AVIF that this FFmpeg cannot read (")) << avif;
  EXPECT_TRUE(avif.ends_with("); convert it to PNG")) << avif;
}

TEST_F(OtherPicture, TooLargeOnesAreRefusedBeforeTheyAreDecoded) {
  EXPECT_EQ(error_in("GIF89a" + word(60000) + word(60000) + gif("000000", "000000").substr(10)),
            "x: GIF of more than the 268435456 pixels that are read");
}

TEST_F(OtherPicture, EveryTruncationIsAnErrorOrThePicture) {
  for (const std::string& bytes :
       {bmp(drawn()), tiff(drawn()), gif("010101", "222222"), webp(5, 4, {1, 2, 3, 4})}) {
    const Tensor whole = decode_image({"x", bytes});
    for (size_t length = 0; length < bytes.size(); ++length) {
      Tensor cut;
      error_of([&] { cut = decode_image({"x", bytes.substr(0, length)}); });
      EXPECT_TRUE(!cut.defined() || cut.equal(whole)) << length << " of " << bytes.size();
    }
    flip_every_bit(bytes, decode_image);
  }
}

TEST(OtherPictureFormat, IsToldByTheFirstBytesAlone) {
  EXPECT_EQ(other_picture_format(bmp(drawn())), "BMP");
  EXPECT_EQ(other_picture_format(tiff(drawn())), "TIFF");
  EXPECT_EQ(other_picture_format("MM\0*"s), "TIFF");
  EXPECT_EQ(other_picture_format(gif("000000", "000000")), "GIF");
  EXPECT_EQ(other_picture_format(webp(1, 1, {})), "WebP");
  EXPECT_EQ(other_picture_format("\0\0\0\x18"s + "ftypavif"), "AVIF");
  EXPECT_EQ(other_picture_format("\0\0\0\x18"s + "ftypmp42"), "");
  EXPECT_EQ(other_picture_format("BMX bikes and other things"), "");
  EXPECT_EQ(other_picture_format(""), "");
}

}  // namespace
}  // namespace perceiver
