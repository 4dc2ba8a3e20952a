#include "perceiver/kernels/cpu/panel_linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

namespace perceiver {
namespace {

template <typename T>
T* data(const Tensor& x) {
  return static_cast<T*>(x.data_ptr());
}

// Rows of whole tiles for each thread, except that the last may have fewer.
int64_t rows_at_once(int64_t rows, int64_t threads) {
  return std::max<int64_t>(8, ((rows + threads - 1) / threads + 7) / 8 * 8);
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
  const int64_t rows = x.size(0), threads = at::get_num_threads();
  TileProduct<T> whole{.a = data<T>(even),
                       .a_stride = even.stride(0),
                       .rows = rows,
                       .panels = data<T>(panels_),
                       .depth = in_,
                       .columns = out_,
                       .start = bias_.defined() ? data<float>(bias_) : nullptr,
                       .activation = activation,
                       .from_memory = true};
  if (z) whole.c = data<float>(*z), whole.c_stride = z->stride(0), whole.add = true;
  if (out) whole.out = data<T>(*out), whole.out_stride = out->stride(0);

  if (rows >= threads * tiles.rows_of_thread) {
    const int64_t step = rows_at_once(rows, threads);
    at::parallel_for(0, (rows + step - 1) / step, 1, [&](int64_t begin, int64_t end) {
      TileProduct<T> part = whole;
      const int64_t first = begin * step;
      part.rows = std::min(end * step, rows) - first;
      part.a += first * part.a_stride;
      if (z) part.c += first * part.c_stride;
      if (out) part.out += first * part.out_stride;
      tiles.multiply(part);
    });
    return;
  }
  const int64_t width = tiles.panel_columns;
  at::parallel_for(0, (out_ + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
    TileProduct<T> part = whole;
    const int64_t first = begin * width;
    part.columns = std::min(end * width, out_) - first;
    part.panels += tiles.panel_size(in_, first);
    if (part.start) part.start += first;
    if (z) part.c += first;
    if (out) part.out += first;
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
  const int64_t rows = x.size(0), channels = x.size(1), threads = at::get_num_threads();
  Tensor out = at::empty({rows, channels}, x.options().dtype(dtype));
  const int64_t step = rows_at_once(rows, threads);
  const auto run = [&]<typename T>(const Tiles<T>& tiles) {
    at::parallel_for(0, (rows + step - 1) / step, 1, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * step, count = std::min(end * step, rows) - first;
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
