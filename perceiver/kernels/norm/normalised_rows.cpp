#include "perceiver/kernels/norm/normalised_rows.h"

#include <ATen/ATen.h>

#include <utility>

#include "perceiver/kernels/norm/normalised_rows_torch.h"

namespace perceiver {

constexpr double kEpsilon = 1e-5;  // LayerNorm's

KnownRows::KnownRows(Tensor padded, int64_t channels)
    : padded_(std::move(padded)),
      channels_(channels),
      before_(current_run().known_rows),
      scope_([this](Run& run) { run.known_rows = this; }) {}

// The rows of x, an array() or a part of one, as they were asked for; undefined where they are not
// known.
Tensor known_rows(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant) {
  for (const KnownRows* known = current_run().known_rows; known; known = known->before_) {
    const Tensor& all = known->padded_;
    const int64_t stride = all.size(2), offset = x.storage_offset() - all.storage_offset();
    const bool same_rows = x.dim() == 3 && x.is_alias_of(all) && x.size(2) == known->channels_ &&
                           x.strides() == all.strides() && offset % stride == 0;
    const bool same_padding = padded == known->channels_ || (padded == stride && constant);
    if (!same_rows || !same_padding || dtype != all.scalar_type()) continue;
    return all.as_strided({x.size(0), x.size(1), padded}, x.strides(), x.storage_offset());
  }
  return {};
}

Tensor normalised_padded(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant) {
  const Tensor known = known_rows(x, dtype, padded, constant);
  if (known.defined()) return known;
  if (cuda_rows_take(x, dtype)) return cuda_normalised(x, dtype, padded, constant);
  const int64_t channels = x.size(-1);
  const Tensor normed = at::layer_norm(x, {channels}, {}, {}, kEpsilon).to(dtype);
  if (padded == channels) return normed;
  Tensor out = at::constant_pad_nd(normed, {0, padded - channels});
  if (constant) out.select(-1, channels).fill_(1.0);
  return out;
}

AddedRows add_normalised(const Tensor& x, const Tensor& y) {
  if (cuda_rows_take(x, x.scalar_type()) && x.dtype() == y.dtype()) {
    return cuda_add_normalised(x, y);
  }
  const Tensor sum = x + y;
  return {sum, normalised_padded(sum, sum.scalar_type(), sum.size(-1), false)};
}

Tensor elements_of(const PlacedArray& a) {
  const Tensor content = a.ids.defined() ? at::embedding(a.content, a.ids) : a.content;
  const int64_t more = a.channels - content.size(2);
  return (more == 0 ? content : at::constant_pad_nd(content, {0, more})) +
         a.places.narrow(1, 0, a.channels);
}

Tensor normalised_placed(const PlacedArray& a) {
  if (cuda_placed_rows_take(a)) return cuda_normalised_placed(a);
  const Tensor elements = elements_of(a);
  const int64_t padded = a.places.size(1);
  return normalised_padded(elements, elements.scalar_type(), padded, padded > a.channels);
}

}  // namespace perceiver
