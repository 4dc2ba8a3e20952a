#include "perceiver/kernels/norm/training_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "perceiver/core/apart_test.h"

namespace perceiver {
namespace {

struct Rows {
  RowTerms terms;
  Tensor scale, offset, gradient, passed;

  // On a device, with terms in `wide` and what products take and give in `narrow`.
  Rows as(at::Device device, at::ScalarType wide, at::ScalarType narrow) const {
    const auto parameters = wide == at::kDouble ? at::kDouble : at::kFloat;
    return {
        {terms.x.to(device, wide), terms.y.to(device, narrow), terms.bias.to(device, parameters)},
        scale.to(device, parameters),
        offset.to(device, parameters),
        gradient.to(device, narrow),
        passed.to(device, wide)};
  }
};

// Everything that the norm and its gradient make.
std::vector<Tensor> pass(const Rows& r, bool added, WantedRows wanted) {
  const auto dtype = r.gradient.scalar_type();
  const NormedRows rows = layer_norm_rows(added ? r.terms : RowTerms{r.terms.x}, r.scale, r.offset,
                                          dtype, r.gradient.size(1));
  const NormGradients g =
      layer_norm_rows_gradient(r.gradient, rows, r.scale, added ? r.passed : Tensor(), wanted);
  std::vector<Tensor> made = {rows.z, rows.normed, rows.mean, rows.rstd, g.scale, g.offset};
  if (wanted != WantedRows::kNone) made.push_back(g.z), made.push_back(g.sum);
  if (wanted == WantedRows::kBoth) made.push_back(g.narrow);
  return made;
}

TEST(TrainingRows, NormTakesRowsThatRepeat) {
  at::manual_seed(22);
  for (const at::Device device : {at::Device(at::kCPU), at::Device(at::kCUDA)}) {
    if (device.is_cuda() && !at::hasCUDA()) continue;
    const auto floats = at::TensorOptions(device);
    const Tensor x = at::randn({7, 64}, floats), scale = at::ones({64}, floats);
    const RowTerms once{x, at::randn({21, 64}, floats).to(at::kBFloat16), at::randn({64}, floats)};
    const RowTerms each{x.repeat({3, 1}), once.y, once.bias};
    const Tensor offset = at::zeros({64}, floats);
    const NormedRows a = layer_norm_rows(once, scale, offset, at::kBFloat16, 64);
    const NormedRows b = layer_norm_rows(each, scale, offset, at::kBFloat16, 64);
    EXPECT_TRUE(a.z.equal(b.z));
    EXPECT_TRUE(a.normed.equal(b.normed));
    EXPECT_TRUE(a.rstd.equal(b.rstd));
  }
}

// Channels that fill their warps and such that do not; rows for some blocks and for all, twice.
TEST(TrainingRows, NormAndGradientAreAsExactOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "needs a GPU";
  at::manual_seed(21);
  for (const int64_t channels : {40, 256, 512, 768, 1000, 1024, 1280, 1536}) {
    for (const int64_t rows : {3, 1501}) {
      const Rows drawn{{at::randn({rows, channels}) * 2 + 0.3, at::randn({rows, channels}),
                        at::randn({channels})},
                       at::randn({channels}) * 0.5 + 1,
                       at::randn({channels}),
                       at::randn({rows, channels}),
                       at::randn({rows, channels})};
      for (const auto wide : {at::kFloat, at::kBFloat16}) {
        for (const auto wanted : {WantedRows::kNone, WantedRows::kWide, WantedRows::kBoth}) {
          const bool added = wanted != WantedRows::kWide;
          const Rows rounded = drawn.as(at::kCPU, wide, at::kBFloat16);
          const auto exact = pass(rounded.as(at::kCPU, at::kDouble, at::kDouble), added, wanted);
          const auto plain = pass(rounded, added, wanted);
          const auto ours = pass(rounded.as(at::kCUDA, wide, at::kBFloat16), added, wanted);
          for (size_t i = 0; i < exact.size(); ++i) {
            const double rounding = 1e-6 * exact[i].norm().item<double>();
            EXPECT_LE(norm_of_difference(ours[i], exact[i]),
                      2 * norm_of_difference(plain[i], exact[i]) + rounding)
                << channels << " channels, " << rows << " rows, " << wide << ", of tensor " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace perceiver
