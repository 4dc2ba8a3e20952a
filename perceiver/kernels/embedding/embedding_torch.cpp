#include "perceiver/kernels/embedding/embedding_torch.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "perceiver/kernels/embedding/embedding.h"

namespace perceiver {
namespace {

bool is_plain(const Tensor& x) {
  return x.is_cuda() && x.scalar_type() == at::kFloat && x.is_contiguous();
}

EmbeddingShape shape_of(const Tensor& ids, int64_t count, int64_t channels) {
  return {.batch = ids.size(0), .length = ids.size(1), .count = count, .channels = channels};
}

}  // namespace

bool cuda_embedding_takes(const Tensor& table, const Tensor& ids, const Tensor& places) {
  return is_plain(table) && table.numel() > 0 && table.size(0) <= kMostEmbeddings &&
         ids.is_cuda() && ids.scalar_type() == at::kLong && ids.numel() > 0 &&
         ids.numel() <= kMostElements && ids.size(0) <= kMostExamples &&
         (!places.defined() || is_plain(places));
}

Tensor cuda_embedded(const Tensor& table, const Tensor& ids, const Tensor& places) {
  const c10::cuda::CUDAGuard guard(table.device());
  const Tensor rows = ids.contiguous();
  const Tensor out = at::empty({ids.size(0), ids.size(1), table.size(1)}, table.options());
  C10_CUDA_CHECK(embed({.shape = shape_of(ids, table.size(0), table.size(1)),
                        .table = table.const_data_ptr<float>(),
                        .ids = rows.const_data_ptr<int64_t>(),
                        .places = places.defined() ? places.const_data_ptr<float>() : nullptr,
                        .out = out.data_ptr<float>()},
                       c10::cuda::getCurrentCUDAStream()));
  return out;
}

EmbeddingGradients cuda_embedding_gradients(const Tensor& gradient, const Tensor& ids,
                                            int64_t count, bool places) {
  const c10::cuda::CUDAGuard guard(gradient.device());
  const Tensor rows = ids.contiguous(), from = gradient.contiguous();
  const EmbeddingShape shape = shape_of(ids, count, gradient.size(2));
  const auto floats = [&](at::IntArrayRef sizes) { return at::empty(sizes, gradient.options()); };
  EmbeddingGradients g{.table = floats({count, shape.channels})};
  if (places) g.places = floats({shape.length, shape.channels});
  const Tensor workspace = floats({embedding_gradient_workspace(shape)});
  C10_CUDA_CHECK(embedding_gradient({.shape = shape,
                                     .ids = rows.const_data_ptr<int64_t>(),
                                     .gradient = from.const_data_ptr<float>(),
                                     .table = g.table.data_ptr<float>(),
                                     .places = places ? g.places.data_ptr<float>() : nullptr,
                                     .workspace = workspace.data_ptr<float>()},
                                    c10::cuda::getCurrentCUDAStream()));
  return g;
}

}  // namespace perceiver
