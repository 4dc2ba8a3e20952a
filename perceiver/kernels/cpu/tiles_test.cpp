#include "perceiver/kernels/cpu/tiles.h"

#include <c10/util/BFloat16.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace perceiver {
namespace {

// Small whole numbers: every sum of their products is a float32, in whatever order it is made.
float drawn(std::mt19937& random) { return std::uniform_int_distribution<int>(-4, 4)(random); }

void put(float& to, float x) { to = x; }
void put(Bf16& to, float x) {
  to.bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);  // has no more bits
}

float got(float x) { return x; }
float got(Bf16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

struct Sizes {
  int64_t rows, depth, columns;
};

// A product and its parts, rows with gaps between them.
template <typename T>
struct Problem {
  Problem(const Tiles<T>& tiles, const Sizes& s) : s(s), stride(s.depth + s.depth % 2 + 6) {
    std::mt19937 random(static_cast<unsigned>(s.rows * 1000 + s.depth * 10 + s.columns));
    a.resize(s.rows * stride);
    wide_a.resize(s.rows * s.depth);
    for (int64_t i = 0; i < s.rows; ++i) {
      for (int64_t k = 0; k < s.depth; ++k) {
        put(a[i * stride + k], wide_a[i * s.depth + k] = drawn(random));
      }
    }
    const auto fill = [&](std::vector<float>& x, int64_t count) {
      x.resize(count);
      for (float& value : x) value = drawn(random);
    };
    fill(wide_b, s.depth * s.columns);
    fill(start, s.columns);
    fill(factor, s.rows);
    fill(before, s.rows * s.columns);
    std::vector<T> b(wide_b.size()), transposed(wide_b.size());
    for (int64_t k = 0; k < s.depth; ++k) {
      for (int64_t j = 0; j < s.columns; ++j) {
        put(b[k * s.columns + j], wide_b[k * s.columns + j]);
        put(transposed[j * s.depth + k], wide_b[k * s.columns + j]);
      }
    }
    panels.resize(tiles.panel_size(s.depth, s.columns));
    tiles.pack(b.data(), s.columns, s.depth, s.columns, panels.data());
    panels_of_transposed.resize(panels.size());
    tiles.pack_transposed(transposed.data(), s.depth, s.columns, s.depth,
                          panels_of_transposed.data());
  }

  TileProduct<T> product() const {
    return {.a = a.data(),
            .a_stride = stride,
            .rows = s.rows,
            .panels = panels.data(),
            .depth = s.depth,
            .columns = s.columns};
  }

  // [rows, columns], each element with what is added to it.
  std::vector<float> expected(const std::function<float(int64_t, int64_t)>& more) const {
    std::vector<float> c(s.rows * s.columns);
    for (int64_t i = 0; i < s.rows; ++i) {
      for (int64_t j = 0; j < s.columns; ++j) {
        float sum = more(i, j);
        for (int64_t k = 0; k < s.depth; ++k) {
          sum += wide_a[i * s.depth + k] * wide_b[k * s.columns + j];
        }
        c[i * s.columns + j] = sum;
      }
    }
    return c;
  }

  Sizes s;
  int64_t stride;
  std::vector<T> a, panels, panels_of_transposed;
  std::vector<float> wide_a, wide_b, start, factor, before;
};

class TilesTest : public testing::TestWithParam<Sizes> {
 protected:
  // For every type of element that this CPU multiplies.
  template <typename Check>
  static void for_each_type(const Check& check) {
    check(float_tiles());
    if (bf16_tiles()) check(*bf16_tiles());
  }
};

TEST_P(TilesTest, ProductsOfWholeNumbersAreExact) {
  for_each_type([]<typename T>(const Tiles<T>& tiles) {
    const Problem<T> problem(tiles, GetParam());
    for (const bool ahead : {false, true}) {
      std::vector<float> c(problem.before.size(), NAN);
      TileProduct<T> product = problem.product();
      product.c = c.data(), product.c_stride = GetParam().columns;
      if (ahead) {  // as far as the middle: some tiles ask for it, others do not
        product.ahead = product.panels;
        product.ahead_end = product.panels + problem.panels.size() / 2;
      }
      tiles.multiply(product);
      EXPECT_EQ(c, problem.expected([](int64_t, int64_t) { return 0.0f; })) << tiles.name;
    }
  });
}

TEST_P(TilesTest, WhatIsAddedIsAdded) {
  for_each_type([]<typename T>(const Tiles<T>& tiles) {
    const Problem<T> problem(tiles, GetParam());
    const int64_t columns = GetParam().columns;
    for (const bool with_factor : {false, true}) {
      const auto expected = problem.expected([&](int64_t i, int64_t j) {
        const float before = problem.before[i * columns + j];
        return problem.start[j] + (with_factor ? problem.factor[i] * before : before);
      });
      for (const bool in_place : {false, true}) {
        std::vector<float> c = in_place ? problem.before : std::vector<float>(expected.size(), NAN);
        TileProduct<T> product = problem.product();
        product.start = problem.start.data();
        product.onto = in_place ? c.data() : problem.before.data(), product.onto_stride = columns;
        product.factor = with_factor ? problem.factor.data() : nullptr;
        product.c = c.data(), product.c_stride = columns;
        tiles.multiply(product);
        EXPECT_EQ(c, expected) << tiles.name << (in_place ? " in place" : "");
      }
    }
  });
}

TEST_P(TilesTest, ResultsThatGoElsewhereAreRoundedToTheNearest) {
  for_each_type([]<typename T>(const Tiles<T>& tiles) {
    const Problem<T> problem(tiles, GetParam());
    const int64_t columns = GetParam().columns, stride = columns + 3;
    std::vector<T> out(GetParam().rows * stride);
    TileProduct<T> product = problem.product();
    product.start = problem.start.data();
    product.out = out.data(), product.out_stride = stride;
    tiles.multiply(product);
    const std::vector<float> exact =
        problem.expected([&](int64_t, int64_t j) { return problem.start[j]; });
    for (int64_t i = 0; i < GetParam().rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const float x = exact[i * columns + j];
        EXPECT_EQ(got(out[i * stride + j]), sizeof(T) == 4 ? x : float(c10::BFloat16(x)))
            << tiles.name << ", row " << i << ", column " << j;
      }
    }
  });
}

TEST_P(TilesTest, BothWaysOfPackingGiveTheSamePanels) {
  for_each_type([]<typename T>(const Tiles<T>& tiles) {
    const Problem<T> problem(tiles, GetParam());
    EXPECT_EQ(0, memcmp(problem.panels.data(), problem.panels_of_transposed.data(),
                        problem.panels.size() * sizeof(T)))
        << tiles.name;
  });
}

// Around every tile there is: of 4, 6, 8, 12, 16 and 32 rows, of 12, 24 and 48 columns, of 32
// channels.
constexpr Sizes kSizes[] = {{1, 1, 1},     {1, 64, 48},   {3, 7, 5},      {4, 33, 12},
                            {8, 32, 49},   {9, 31, 24},   {15, 34, 47},   {16, 32, 16},
                            {17, 65, 33},  {32, 64, 48},  {33, 96, 100},  {48, 100, 17},
                            {63, 240, 64}, {64, 256, 96}, {100, 322, 31}, {300, 66, 130}};
INSTANTIATE_TEST_SUITE_P(Sizes, TilesTest, testing::ValuesIn(kSizes));

}  // namespace
}  // namespace perceiver
