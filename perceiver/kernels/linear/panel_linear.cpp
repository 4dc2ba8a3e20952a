#include "perceiver/kernels/linear/panel_linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "perceiver/kernels/cpu/work_stealing.h"

namespace perceiver {
namespace {

// Rows that a thread takes before it looks for more: multiplied by a panel, normalised.
constexpr int64_t kPieceRows = 64, kNormRows = 16;

template <typename T>
T* data(const Tensor& x) {
  return static_cast<T*>(x.data_ptr());
}

// Pieces that are large, and enough for every thread to come out at the same time.
int64_t rows_of_piece(int64_t rows, int64_t panels) {
  constexpr int64_t kEnough = 12;
  return panels * rows >= kPieceRows * kEnough * at::get_num_threads() ? kPieceRows
                                                                       : kPieceRows / 2;
}

// Block after block of rows, in each panel after panel, by each piece after piece of the rows.
template <typename T>
void multiply_in_pieces(const Tiles<T>& tiles, const TileProduct<T>& whole) {
  const int64_t rows = whole.rows, columns = whole.columns;
  const int64_t width = tiles.panel_columns, panels = (columns + width - 1) / width;
  const int64_t piece_rows = rows_of_piece(rows, panels);
  const int64_t pieces_of_block = panels * (tiles.row_block / piece_rows);
  const int64_t pieces = panels * ((rows + piece_rows - 1) / piece_rows);
  share_out(pieces, [&](int64_t i) {
    const int64_t block = i / pieces_of_block * tiles.row_block;
    const int64_t block_rows = std::min(tiles.row_block, rows - block);
    const int64_t in_panel = (block_rows + piece_rows - 1) / piece_rows;
    const int64_t panel = i % pieces_of_block / in_panel, piece = i % pieces_of_block % in_panel;
    const int64_t row = block + piece * piece_rows, column = panel * width;
    TileProduct<T> part = whole;
    part.rows = std::min(piece_rows, block + block_rows - row);
    part.columns = std::min(width, columns - column);
    part.a += row * part.a_stride;
    part.panels += tiles.panel_size(whole.depth, column);
    // The pieces of a panel ask for the next one together.
    const int64_t after = columns - column - part.columns;
    const int64_t size = tiles.panel_size(whole.depth, std::min(width, after));
    const T* next = part.panels + tiles.panel_size(whole.depth, part.columns);
    part.ahead = next + size * piece / in_panel;
    part.ahead_end = next + size * (piece + 1) / in_panel;
    if (part.start) part.start += column;
    if (part.onto) part.onto += row * part.onto_stride + column;
    if (part.c) part.c += row * part.c_stride + column;
    if (part.out) part.out += row * part.out_stride + column;
    tiles.multiply(part);
  });
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

template <typename Finish>
void PanelLinear::multiply(const Tensor& x, const Finish& finish) const {
  TORCH_INTERNAL_ASSERT(x.scalar_type() == dtype_ && x.size(1) == in_ && x.stride(1) == 1);
  const auto run = [&]<typename T>(const Tiles<T>& tiles) {
    // bfloat16 is multiplied in pairs: an odd channel needs a zero beside it.
    const bool uneven = sizeof(T) < sizeof(float) && in_ % 2 != 0;
    const Tensor even = uneven ? at::constant_pad_nd(x, {0, 1}) : x;
    TileProduct<T> whole{.a = data<T>(even),
                         .a_stride = even.stride(0),
                         .rows = x.size(0),
                         .panels = data<T>(panels_),
                         .depth = in_,
                         .columns = out_,
                         .start = bias_.defined() ? data<float>(bias_) : nullptr};
    finish(whole);
    multiply_in_pieces(tiles, whole);
  };
  dtype_ == at::kFloat ? run(float_tiles()) : run(*bf16_tiles());
}

Tensor PanelLinear::forward(const Tensor& x, Activation activation) const {
  const Tensor out = at::empty({x.size(0), out_}, x.options());
  multiply(x, [&]<typename T>(TileProduct<T>& product) {
    product.out = data<T>(out), product.out_stride = out_;
    product.activation = activation;
  });
  return out;
}

void PanelLinear::multiply_onto(const Tensor& onto, const Tensor& x, const Tensor& z) const {
  multiply(x, [&](auto& product) {
    if (onto.defined()) product.onto = data<float>(onto), product.onto_stride = onto.stride(0);
    product.c = data<float>(z), product.c_stride = z.stride(0);
  });
}

Tensor PanelLinear::sum(const Tensor& x, const Tensor& onto) const {
  const Tensor z = at::empty({x.size(0), out_}, x.options().dtype(at::kFloat));
  multiply_onto(onto, x, z);
  return z;
}

void PanelLinear::add_to(const Tensor& z, const Tensor& x) const { multiply_onto(z, x, z); }

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
