#include "perceiver/kernels/norm/normalised_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"
#include "perceiver/kernels/attention/wide_attention.h"

namespace perceiver {
namespace {

Tensor normalised(const Tensor& x) {
  return at::layer_norm(x.to(at::kDouble), {x.size(-1)}, {}, {}, 1e-5);
}

std::vector<at::Device> devices() {
  std::vector<at::Device> all = {at::kCPU};
  if (at::hasCUDA()) all.emplace_back(at::kCUDA);
  return all;
}

TEST(NormalisedRows, ArePaddedWithZerosAndAConstant) {
  at::manual_seed(12);
  // Channels on both sides of what a warp holds, and rows that packs of eight do not divide.
  for (const at::Device device : devices()) {
    for (const int64_t channels : {3, 40, 322, 512, 768, 1024, 1280, 2048}) {
      for (const int64_t rows : {5, 2100}) {
        const auto options = at::TensorOptions(device).dtype(at::kBFloat16);
        const Tensor wide = at::randn({1, rows, padded_channels(channels)}, options) * 3 + 1;
        const Tensor x = wide.narrow(2, 0, channels);
        const int64_t padded = padded_channels(channels + 1);
        for (const Tensor& given : {x, x.contiguous()}) {
          const Tensor out = normalised_padded(given, at::kBFloat16, padded, true);
          ASSERT_EQ(out.sizes(), (std::vector<int64_t>{1, rows, padded}));
          EXPECT_LE(largest_difference(out.narrow(2, 0, channels), normalised(x)), 2e-2)
              << channels;
          EXPECT_TRUE(out.select(2, channels).eq(1).all().item<bool>());
          EXPECT_TRUE(out.slice(2, channels + 1).eq(0).all().item<bool>());
        }
      }
    }
  }
}

TEST(NormalisedRows, OfASumTakeAnArrayThatRepeatsItsExample) {
  at::manual_seed(13);
  for (const at::Device device : devices()) {
    for (const int64_t rows : {7, 900}) {
      const auto options = at::TensorOptions(device).dtype(at::kBFloat16);
      const Tensor x = at::randn({1, rows, 1280}, options).expand({3, -1, -1});
      const Tensor y = at::randn({3, rows, 1280}, options);
      const Tensor sum = x + y;
      const AddedRows out = add_normalised(x, y.clone());
      EXPECT_TRUE(out.sum.equal(sum));
      EXPECT_LE(largest_difference(out.normed, normalised(sum)), 2e-2);
    }
  }
}

}  // namespace
}  // namespace perceiver
