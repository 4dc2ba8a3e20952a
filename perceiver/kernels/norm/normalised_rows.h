// Rows of arrays on their way into products on a GPU: normalised, without scale and offset, which
// the inference forms have folded into the product behind. By kernels of our own where they are
// built, by LibTorch's operations otherwise. Nothing here waits for the GPU, so that all of it can
// be recorded as a graph.
#pragma once

#include "perceiver/core/tensor.h"
#include "perceiver/kernels/run.h"

namespace perceiver {

// x [..., C] -> [..., P]: rows with mean 0 and variance 1 in `dtype`, then zeros. With `constant`,
// the channel after the last holds 1.
Tensor normalised_padded(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant);

// x + y, and the normalised rows of that; [..., C] each. y may be overwritten.
struct AddedRows {
  Tensor sum, normed;
};
AddedRows add_normalised(const Tensor& x, const Tensor& y);

// Elements made of what is at a place and of the place: row m of example b is
//   places[m] + content[b, m], or places[m] + content[ids[b, m]],
// where content has values for the first C' of the C channels.
struct PlacedArray {
  Tensor places;     // [M, P], zeros behind C; to be normalised, padded_channels(C) are P
  Tensor content;    // [B, M, C'], or [rows, C'] where there are ids
  Tensor ids = {};   // [B, M]
  int64_t channels;  // C
};

// -> [B, M, C]: the elements themselves
Tensor elements_of(const PlacedArray& array);

// -> [B, M, P], as normalised_padded() of those elements, with a constant where P is more than C.
// The elements are not stored.
Tensor normalised_placed(const PlacedArray& array);

// An array that was made normalised. While this lives, normalised_padded() on this thread finds its
// rows done. To normalise them once more would change nothing but rounding, so that it does not
// matter who looks at array() otherwise, as long as they would have normalised it first.
class KnownRows {
 public:
  KnownRows(Tensor padded, int64_t channels);  // padded [B, M, P], as normalised_placed() gives
  KnownRows(const KnownRows&) = delete;

  Tensor array() const { return padded_.narrow(2, 0, channels_); }  // [B, M, C]

 private:
  friend Tensor known_rows(const Tensor& x, at::ScalarType dtype, int64_t padded, bool constant);

  Tensor padded_;
  int64_t channels_;
  const KnownRows* before_;
  RunScope scope_;
};

}  // namespace perceiver
