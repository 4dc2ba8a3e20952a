#include "perceiver/media/flow.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "perceiver/media/image.h"
#include "perceiver/media/media_test.h"

namespace perceiver {
namespace {

using namespace std::string_literals;

// float [2, 3, 5], in steps of 1/64 pixel
Tensor drawn() { return at::arange(30, at::kFloat).mul(17.0 / 64).sub(4).view({2, 3, 5}); }

std::string error_in(const std::string& bytes) {
  return error_of([&] { decode_flow(File{"x", bytes}); });
}

TEST(Flo, WhatIsWrittenIsReadBack) {
  const FlowField field = decode_flow({"x", encode_flo(drawn())});
  EXPECT_TRUE(field.flow.equal(drawn()));
  EXPECT_TRUE(field.valid.equal(at::ones({3, 5}, at::kBool)));
}

TEST(Flo, PixelsComeRowByRowHorizontalBeforeVertical) {
  const std::string bytes = encode_flo(at::tensor({1.f, 2.f, 3.f, 4.f}).view({2, 1, 2}));
  EXPECT_EQ(bytes.substr(0, 12), "PIEH\2\0\0\0\1\0\0\0"s);
  EXPECT_EQ(bytes.substr(12), "\0\0\x80\x3f\0\0\x40\x40\0\0\0\x40\0\0\x80\x40"s);  // 1, 3, 2, 4
}

TEST(Flo, HugeValuesAreUnknown) {
  Tensor flow = drawn();
  flow[0][1][2] = 1.6e9f;
  flow[1][2][4] = std::numeric_limits<float>::quiet_NaN();
  const FlowField field = decode_flow({"x", encode_flo(flow)});
  EXPECT_EQ(field.valid.sum().item<int64_t>(), 13);
  EXPECT_FALSE(field.valid[1][2].item<bool>());
  EXPECT_FALSE(field.valid[2][4].item<bool>());
  EXPECT_EQ(field.flow[1][1][2].item<float>(), 0.0f);
  EXPECT_EQ(field.flow[1][2][4].item<float>(), 0.0f);
}

TEST(Flo, BrokenOnesAreNamed) {
  const std::string bytes = encode_flo(drawn());
  EXPECT_EQ(error_in("PIEH"), "x: broken .flo: cut short");
  EXPECT_EQ(error_in(bytes + "a"), "x: broken .flo: 133 bytes, expected 132 for 5 x 3 pixels");
  EXPECT_EQ(error_in("PIEH\xff\xff\xff\xff\1\0\0\0"s), "x: picture of -1 x 1 pixels");
  EXPECT_EQ(error_in("PIEH\xff\xff\xff\x7f\xff\xff\xff\x7f"s),
            "x: picture of 2147483647 x 2147483647 pixels, more than the 268435456 that are read");
  EXPECT_EQ(error_in(""), "x: is empty, expected a flow");
  EXPECT_EQ(error_in("flow"), "x: not a flow: expected .flo or KITTI's PNG of 16 bits");
}

TEST(Flo, EveryTruncationIsAnErrorAndEveryFlippedBitAnErrorOrAnAnswer) {
  const std::string bytes = encode_flo(drawn());
  expect_truncations_fail(bytes, decode_flow);
  flip_every_bit(bytes, decode_flow);
}

TEST(Kitti, WhatIsWrittenIsReadBackWhereItIsValid) {
  const Tensor valid = at::arange(15).remainder(4).ne(0).view({3, 5});
  Tensor flow = drawn();
  flow[0][0][1] = -512;
  flow[1][0][1] = 512 - 1.0 / 64;
  flow[0][0][0] = 1e10;  // not valid, so it need not fit
  const FlowField field = decode_flow({"x", encode_kitti_flow({flow, valid})});
  EXPECT_TRUE(field.valid.equal(valid));
  EXPECT_TRUE(field.flow.equal(at::where(valid, flow, at::zeros_like(flow))));
}

TEST(Kitti, FlowThatDoesNotFitIsRefused) {
  const FlowField field{at::full({2, 1, 1}, 600.0), at::ones({1, 1}, at::kBool)};
  EXPECT_EQ(error_of([&] { encode_kitti_flow(field); }),
            "flow of 600 pixels, expected less than 512 in size for KITTI's PNG; write a .flo");
}

TEST(Kitti, AnotherPngIsNoFlow) {
  EXPECT_EQ(error_in(encode_png(at::zeros({3, 2, 2}, at::kByte))),
            "x: not a flow: PNG of 3 channels of 8 bits, expected KITTI's 3 of 16");
  EXPECT_EQ(error_in(golden("grey16.png").bytes),
            "x: not a flow: PNG of 1 channels of 16 bits, expected KITTI's 3 of 16");
}

}  // namespace
}  // namespace perceiver
