#include "perceiver/kernels/embedding/neighbourhoods.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/kernels/attention/wide_attention.h"

namespace perceiver {
namespace {

TEST(NeighbourhoodRows, AreInTheOrderPictureRowColumnColour) {
  at::manual_seed(17);
  std::vector<at::Device> devices = {at::kCPU};
  if (at::hasCUDA()) devices.emplace_back(at::kCUDA);
  for (const at::Device device : devices) {
    for (const int64_t count : {1, 2}) {
      for (const int64_t size : {1, 3}) {
        const Tensor pictures =
            at::randn({2, count, 3, 5, 7}, at::TensorOptions(device).dtype(at::kBFloat16));
        const int64_t values = count * size * size * 3;
        const Tensor rows = neighbourhood_rows(pictures, size);
        ASSERT_EQ(rows.sizes(), (std::vector<int64_t>{2, 35, padded_channels(values)}));
        const int64_t edge = size / 2;
        const Tensor framed = at::constant_pad_nd(pictures, {edge, edge, edge, edge});
        for (int64_t i = 0; i < values; ++i) {
          const int64_t colour = i % 3, column = i / 3 % size, line = i / (3 * size) % size;
          const Tensor expected = framed.select(1, i / (3 * size * size))
                                      .select(1, colour)
                                      .narrow(1, line, 5)
                                      .narrow(2, column, 7)
                                      .flatten(1);
          EXPECT_TRUE(rows.select(2, i).equal(expected)) << i;
        }
        EXPECT_TRUE(rows.slice(2, values).eq(0).all().item<bool>());
      }
    }
  }
}

}  // namespace
}  // namespace perceiver
