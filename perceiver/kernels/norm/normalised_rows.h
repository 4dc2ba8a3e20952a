// Rows of arrays on their way into products on a GPU: normalised, without scale and offset, which
// the inference forms have folded into the product behind. By kernels of our own where they are
// built, by LibTorch's operations otherwise. Nothing here waits for the GPU, so that all of it can
// be recorded as a graph.
#pragma once

#include "perceiver/core/tensor.h"

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
  Tensor places;     // [M, P], zeros behind C; padded_channels(C) are P
  Tensor content;    // [B, M, C'], or [rows, C'] where there are ids
  Tensor ids = {};   // [B, M]
  int64_t channels;  // C
};

// Whether there is a kernel that normalises such elements without storing them, and what it gives:
// [B, M, P], as normalised_padded() of the elements, with a constant where P is more than C.
bool placed_rows_are_fused(const PlacedArray& array);
Tensor normalised_placed(const PlacedArray& array);

}  // namespace perceiver
