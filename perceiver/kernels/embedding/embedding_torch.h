// The kernels of embedding.h as functions of tensors. In a program built without them they refuse.
#pragma once

#include "perceiver/core/tensor.h"

namespace perceiver {

// table [V, C], ids [B, M], places [M, C] or undefined
bool cuda_embedding_takes(const Tensor& table, const Tensor& ids, const Tensor& places);
Tensor cuda_embedded(const Tensor& table, const Tensor& ids, const Tensor& places);  // [B, M, C]

struct EmbeddingGradients {
  Tensor table;        // [V, C]
  Tensor places = {};  // [M, C]; undefined where they are not wanted
};
EmbeddingGradients cuda_embedding_gradients(const Tensor& gradient, const Tensor& ids,
                                            int64_t count, bool places);

}  // namespace perceiver
