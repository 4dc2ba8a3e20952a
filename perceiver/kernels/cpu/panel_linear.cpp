#include "perceiver/kernels/cpu/panel_linear.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "perceiver/kernels/cpu/share_out.h"

namespace perceiver {
namespace {

// Rows that a thread takes before it looks for more: multiplied by a panel, normalised.
constexpr int64_t kPieceRows = 64, kNormRows = 16;

template <typename T>
T* data(const Tensor& x) {
  return static_cast<T*>(x.data_ptr());
}

}  // namespace

PanelLinear::PanelLinear(const Tensor& weight, const Tensor& bias, at::ScalarType dtype)
    : dtype_(dtype), in_(weight.size(1)), out_(weight.size(0)) {
  const Tensor rounded = weight.detach().to(dtype).contiguous();
  if (bias.defined()) bias_ = bias.detach().to(at::kFloat).contiguous();
  const auto pack = [&]<typename T>(const Tiles<T>& tiles) {
    panels_ = at::empty({tiles.panel_size(in_, out_)}, rounded.options());
    tiles.pack_transposed(data<T>(rounded), in_, out_, in_, data<T>(panels_));
  };
  dtype == at::kFloat ? pack(float_tiles()) : pack(*bf16_tiles());
}

template <typename T>
void PanelLinear::multiply(const Tiles<T>& tiles, const Tensor& x, Tensor* z, Tensor* out,
                           Activation activation) const {
  TORCH_INTERNAL_ASSERT(x.scalar_type() == dtype_ && x.size(1) == in_ && x.stride(1) == 1);
  // bfloat16 is multiplied in pairs: an odd channel needs a zero beside it.
  const bool uneven = sizeof(T) < sizeof(float) && in_ % 2 != 0;
  const Tensor even = uneven ? at::constant_pad_nd(x, {0, 1}) : x;
  const int64_t rows = x.size(0);
  TileProduct<T> whole{.a = data<T>(even),
                       .a_stride = even.stride(0),
                       .rows = rows,
                       .panels = data<T>(panels_),
                       .depth = in_,
                       .columns = out_,
                       .start = bias_.defined() ? data<float>(bias_) : nullptr,
                       .activation = activation};
  if (z) whole.c = data<float>(*z), whole.c_stride = z->stride(0), whole.add = true;
  if (out) whole.out = data<T>(*out), whole.out_stride = out->stride(0);

  // Block after block of rows, in each panel after panel, by each piece after piece of the rows.
  const int64_t width = tiles.panel_columns, panels = (out_ + width - 1) / width;
  const int64_t pieces_of_block = panels * (tiles.row_block / kPieceRows);
  const int64_t pieces = panels * ((rows + kPieceRows - 1) / kPieceRows);
  share_out(pieces, [&](int64_t i) {
    const int64_t block = i / pieces_of_block * tiles.row_block;
    const int64_t block_rows = std::min(tiles.row_block, rows - block);
    const int64_t in_panel = (block_rows + kPieceRows - 1) / kPieceRows;
    const int64_t panel = i % pieces_of_block / in_panel, piece = i % pieces_of_block % in_panel;
    const int64_t row = block + piece * kPieceRows, column = panel * width;
    TileProduct<T> part = whole;
    part.rows = std::min(kPieceRows, block + block_rows - row);
    part.columns = std::min(width, out_ - column);
    part.a += row * part.a_stride;
    part.panels += tiles.panel_size(in_, column);
    // The pieces of a panel ask for the next one together.
    const T* next = part.panels + tiles.panel_size(in_, part.columns);
    const int64_t size = tiles.panel_size(in_, std::min(width, out_ - column - part.columns));
    part.ahead = next + size * piece / in_panel;
    part.ahead_end = next + size * (piece + 1) / in_panel;
    if (part.start) part.start += column;
    if (z) part.c += row * part.c_stride + column;
    if (out) part.out += row * part.out_stride + column;
    tiles.multiply(part);
  });
}

Tensor PanelLinear::forward(const Tensor& x, Activation activation) const {
  Tensor out = at::empty({x.size(0), out_}, x.options());
  if (dtype_ == at::kFloat) {
    multiply(float_tiles(), x, nullptr, &out, activation);
  } else {
    multiply(*bf16_tiles(), x, nullptr, &out, activation);
  }
  return out;
}

void PanelLinear::add_to(Tensor& z, const Tensor& x) const {
  if (dtype_ == at::kFloat) {
    multiply(float_tiles(), x, &z, nullptr, Activation::kNone);
  } else {
    multiply(*bf16_tiles(), x, &z, nullptr, Activation::kNone);
  }
}

Tensor normalised(const Tensor& x, at::ScalarType dtype) {
  TORCH_INTERNAL_ASSERT(x.dim() == 2 && x.stride(1) == 1);
  const int64_t rows = x.size(0), channels = x.size(1);
  Tensor out = at::empty({rows, channels}, x.options().dtype(dtype));
  const auto run = [&]<typename T>(const Tiles<T>& tiles) {
    share_out((rows + kNormRows - 1) / kNormRows, [&](int64_t i) {
      const int64_t first = i * kNormRows, count = std::min(kNormRows, rows - first);
      T* to = data<T>(out) + first * channels;
      if (x.scalar_type() == at::kFloat) {
        tiles.normalise(data<float>(x) + first * x.stride(0), x.stride(0), count, channels, to,
                        channels);
      } else {
        tiles.normalise_same(data<T>(x) + first * x.stride(0), x.stride(0), count, channels, to,
                             channels);
      }
    });
  };
  dtype == at::kFloat ? run(float_tiles()) : run(*bf16_tiles());
  return out;
}

}  // namespace perceiver
