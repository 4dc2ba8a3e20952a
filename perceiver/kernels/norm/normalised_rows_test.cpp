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

TEST(NormalisedRows, OfPlacesAndContentAreThoseOfTheirElements) {
  at::manual_seed(14);
  for (const at::Device device : devices()) {
    const auto options = at::TensorOptions(device).dtype(at::kBFloat16);
    const Tensor features = at::randn({60, 258}, options);
    // Content in rows, and in planes as a picture has it.
    for (const Tensor& content :
         {at::randn({2, 60, 64}, options), at::randn({2, 3, 60}, options).transpose(1, 2)}) {
      const int64_t before = content.size(2), channels = before + 258;
      const int64_t padded = padded_channels(channels);
      const Tensor elements = at::cat({content, features.expand({2, -1, -1})}, -1);
      const Tensor out =
          normalised_placed({.places = at::constant_pad_nd(features, {before, padded - channels}),
                             .content = content,
                             .channels = channels});
      ASSERT_EQ(out.sizes(), (std::vector<int64_t>{2, 60, padded}));
      EXPECT_LE(largest_difference(out.narrow(2, 0, channels), normalised(elements)), 2e-2);
      EXPECT_TRUE(out.select(2, channels).eq(1).all().item<bool>());
    }
  }
}

TEST(NormalisedRows, OfPlacesAndIdsAreThoseOfEmbeddings) {
  at::manual_seed(15);
  for (const at::Device device : devices()) {
    const auto options = at::TensorOptions(device).dtype(at::kBFloat16);
    const Tensor table = at::randn({10, 768}, options), places = at::randn({30, 768}, options);
    const Tensor ids = at::randint(10, {2, 30}, at::TensorOptions(device).dtype(at::kLong));
    const Tensor elements = at::embedding(table, ids) + places;
    const Tensor out =
        normalised_placed({.places = places, .content = table, .ids = ids, .channels = 768});
    EXPECT_LE(largest_difference(out, normalised(elements)), 2e-2);
  }
}

TEST(KnownRows, AreFoundAsLongAsTheyAreKnown) {
  at::manual_seed(16);
  const Tensor x = at::randn({2, 12, 42});
  const Tensor padded = normalised_padded(x, at::kFloat, 48, true);
  Tensor array;
  {
    const KnownRows known(padded, 42);
    array = known.array();
    const auto found = [&](const Tensor& rows, int64_t channels, bool constant) {
      return normalised_padded(rows, at::kFloat, channels, constant).is_alias_of(padded);
    };
    EXPECT_TRUE(found(array, 48, true));
    EXPECT_TRUE(found(array, 42, false));
    EXPECT_TRUE(found(array.narrow(1, 3, 5), 48, true));
    EXPECT_TRUE(normalised_padded(array.narrow(1, 3, 5), at::kFloat, 48, true)
                    .equal(padded.narrow(1, 3, 5)));
    EXPECT_FALSE(found(array, 48, false));
    EXPECT_FALSE(found(array.narrow(2, 1, 41), 48, true));
    EXPECT_FALSE(found(x, 48, true));
  }
  const Tensor again = normalised_padded(array, at::kFloat, 48, true);
  EXPECT_FALSE(again.is_alias_of(padded));
  EXPECT_LE(largest_difference(again, padded), 1e-4);
}

}  // namespace
}  // namespace perceiver
