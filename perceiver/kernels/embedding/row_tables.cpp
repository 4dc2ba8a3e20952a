#include "perceiver/kernels/embedding/row_tables.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>

#include "perceiver/kernels/cpu/work_stealing.h"
#include "perceiver/kernels/embedding/row_tables_torch.h"

namespace perceiver {
namespace {

struct Row {
  const float *of_id, *of_place, *bias;
  float scale;
  int64_t channels;

  float at(int64_t k) const { return scale * (of_id[k] + of_place[k]) + bias[k]; }
};

void write_row(const Row& row, float* out) {
  for (int64_t k = 0; k < row.channels; ++k) out[k] = row.at(k);
}

// To the nearest, ties to even; without a branch for NaN, which would keep it from being vectors.
void write_row(const Row& row, at::BFloat16* out) {
  for (int64_t k = 0; k < row.channels; ++k) {
    const auto bits = std::bit_cast<uint32_t>(row.at(k));
    out[k].x = static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
  }
}

template <typename T>
void look_up(const RowTables& t, const Tensor& ids, const Tensor& out) {
  const int64_t length = ids.size(1), channels = t.bias.size(0), places = t.scales.size(1);
  const int64_t* id = ids.const_data_ptr<int64_t>();
  const auto* of_ids = t.of_ids.const_data_ptr<float>();
  const auto* of_places = t.of_places.const_data_ptr<float>();
  const auto* scales = t.scales.const_data_ptr<float>();
  const auto* bias = t.bias.const_data_ptr<float>();
  T* to = out.data_ptr<T>();
  constexpr int64_t kRows = 16;  // at once
  share_out((ids.numel() + kRows - 1) / kRows, [&](int64_t i) {
    for (int64_t row = i * kRows; row < std::min((i + 1) * kRows, ids.numel()); ++row) {
      const int64_t place = row % length;
      write_row({.of_id = of_ids + id[row] * channels,
                 .of_place = of_places + place * channels,
                 .bias = bias,
                 .scale = scales[id[row] * places + place],
                 .channels = channels},
                to + row * channels);
    }
  });
}

Tensor by_operations(const RowTables& t, const Tensor& ids, at::ScalarType dtype) {
  const int64_t length = ids.size(1);
  const Tensor places = at::arange(length, ids.options());
  const Tensor sums =
      at::embedding(t.of_ids.to(at::kFloat), ids) + t.of_places.narrow(0, 0, length).to(at::kFloat);
  return (t.scales.index({ids, places}).unsqueeze(-1) * sums + t.bias).to(dtype);
}

}  // namespace

Tensor looked_up(const RowTables& t, const Tensor& ids, at::ScalarType dtype) {
  if (cuda_tables_take(t, ids, dtype)) return cuda_looked_up(t, ids, dtype);
  const bool ours = ids.is_cpu() && ids.scalar_type() == at::kLong &&
                    t.of_ids.scalar_type() == at::kFloat &&
                    (dtype == at::kFloat || dtype == at::kBFloat16);
  if (!ours) return by_operations(t, ids, dtype);
  const Tensor out =
      at::empty({ids.size(0), ids.size(1), t.bias.size(0)}, t.bias.options().dtype(dtype));
  if (dtype == at::kFloat) {
    look_up<float>(t, ids.contiguous(), out);
  } else {
    look_up<at::BFloat16>(t, ids.contiguous(), out);
  }
  return out;
}

}  // namespace perceiver
