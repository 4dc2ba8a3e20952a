#include "perceiver/kernels/embedding/row_tables.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"

namespace perceiver {
namespace {

std::vector<at::Device> devices() {
  std::vector<at::Device> all = {at::kCPU};
  if (at::hasCUDA()) all.emplace_back(at::kCUDA);
  return all;
}

constexpr int64_t kIds = 12, kPlaces = 40;

RowTables drawn_tables(int64_t channels, at::Device device, at::ScalarType dtype) {
  const auto options = at::TensorOptions(device);
  return {at::randn({kIds, channels}, options).to(dtype),
          at::randn({kPlaces, channels}, options).to(dtype), at::rand({kIds, kPlaces}, options),
          at::randn({channels}, options)};
}

Tensor by_definition(const RowTables& t, const Tensor& ids) {
  const auto wide = [](const Tensor& x) { return x.to(at::kDouble); };
  const Tensor places = at::arange(ids.size(1), ids.options());
  const Tensor sums = wide(t.of_ids).index({ids}) + wide(t.of_places).narrow(0, 0, ids.size(1));
  return wide(t.scales).index({ids, places}).unsqueeze(-1) * sums + wide(t.bias);
}

// Channels that packs of eight divide and not; examples on both sides of what a block shares.
TEST(RowTables, GiveScaledSums) {
  at::manual_seed(17);
  for (const at::Device device : devices()) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
      for (const at::ScalarType of_tables : {at::kFloat, dtype}) {
        for (const int64_t channels : {1, 30, 1536, 2304}) {
          const RowTables tables = drawn_tables(channels, device, of_tables);
          for (const int64_t batch : {1, 3, 9}) {
            for (const int64_t length : {int64_t{17}, kPlaces}) {
              const Tensor ids =
                  at::randint(kIds, {batch, length}, tables.bias.options().dtype(at::kLong));
              const Tensor out = looked_up(tables, ids, dtype), exact = by_definition(tables, ids);
              ASSERT_EQ(out.scalar_type(), dtype);
              ASSERT_EQ(out.sizes(), exact.sizes());
              // Rounded to the dtype once.
              const double step = dtype == at::kFloat ? 1e-6 : dtype == at::kHalf ? 1e-3 : 4e-3;
              EXPECT_LE(largest_difference(out, exact), step * exact.abs().max().item<double>())
                  << device << " " << dtype << " " << channels;
            }
          }
        }
      }
    }
  }
}

TEST(RowTables, TakeIdsWithGapsBetweenThem) {
  at::manual_seed(18);
  for (const at::Device device : devices()) {
    const RowTables tables = drawn_tables(16, device, at::kFloat);
    const Tensor ids = at::randint(kIds, {3, 20}, tables.bias.options().dtype(at::kLong));
    const Tensor some = ids.narrow(1, 4, 9);
    EXPECT_TRUE(looked_up(tables, some, at::kFloat)
                    .equal(looked_up(tables, some.contiguous(), at::kFloat)));
  }
}

}  // namespace
}  // namespace perceiver
