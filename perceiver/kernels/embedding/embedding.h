// Learned vectors by index: their sum with those of places, and the gradients of both, summed in a
// fixed order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace perceiver {

struct EmbeddingShape {
  int64_t batch, length;  // B, M: elements
  int64_t count;          // V: vectors
  int64_t channels;       // C
};

// out [B, M, C] = table[ids] + places
struct EmbeddingPass {
  EmbeddingShape shape;
  const float* table;             // [V, C]
  const int64_t* ids;             // [B, M], in [0, V)
  const float* places = nullptr;  // [M, C]; null: none
  float* out;
};
cudaError_t embed(const EmbeddingPass& pass, cudaStream_t stream);

// What the gradient takes.
constexpr int64_t kMostEmbeddings = 2048, kMostExamples = 2048, kMostElements = 1 << 22;

// table [V, C] = for each id the sum of its elements' gradients, places [M, C] = their sum over the
// batch
struct EmbeddingGradient {
  EmbeddingShape shape;
  const int64_t* ids;
  const float* gradient;  // [B, M, C]
  float* table;
  float* places = nullptr;  // null: not wanted
  float* workspace;         // of embedding_gradient_workspace() floats
};
int64_t embedding_gradient_workspace(const EmbeddingShape& shape);
cudaError_t embedding_gradient(const EmbeddingGradient& pass, cudaStream_t stream);

}  // namespace perceiver
