// A program without CUDA kernels: LibTorch has no CUDA, or there is no nvcc.
#include "perceiver/core/error.h"
#include "perceiver/kernels/cuda/fused_optimizer.h"
#include "perceiver/kernels/cuda/glue.h"
#include "perceiver/kernels/cuda/training_glue.h"

namespace perceiver {

std::string cuda_hopper_refusal(const Tensor&, const Tensor&, const Tensor&) {
  return "this program was built without CUDA kernels";
}

Tensor cuda_attend_hopper(const Tensor&, const Tensor&, const Tensor&, const Tensor&, double,
                          Tensor*) {
  fail("this program was built without CUDA kernels");
}

bool cuda_scores_take(const Tensor&) { return false; }

Tensor cuda_softmax(const Tensor&, const Tensor&, double) {
  fail("this program was built without CUDA kernels");
}

void cuda_weights_again(const Tensor&, const Tensor&, const Tensor&, double) {
  fail("this program was built without CUDA kernels");
}

void cuda_score_gradient(const Tensor&, const Tensor&, const Tensor&, double) {
  fail("this program was built without CUDA kernels");
}

bool cuda_rows_take(const Tensor&, at::ScalarType) { return false; }

Tensor cuda_normalised(const Tensor&, at::ScalarType, int64_t, bool) {
  fail("this program was built without CUDA kernels");
}

AddedRows cuda_add_normalised(const Tensor&, const Tensor&) {
  fail("this program was built without CUDA kernels");
}

bool cuda_training_rows_take(const Tensor&, at::ScalarType) { return false; }

NormedRows cuda_layer_norm_rows(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                int64_t) {
  fail("this program was built without CUDA kernels");
}

NormGradients cuda_layer_norm_rows_gradient(const Tensor&, const NormedRows&, const Tensor&,
                                            const Tensor&, WantedRows) {
  fail("this program was built without CUDA kernels");
}

Tensor cuda_added_rows(const Tensor&, const Tensor&) {
  fail("this program was built without CUDA kernels");
}

SummedRows cuda_narrowed_rows(const Tensor&, int64_t) {
  fail("this program was built without CUDA kernels");
}

Tensor cuda_copy_and_sum(const Tensor&, const Tensor&) {
  fail("this program was built without CUDA kernels");
}

SummedRows cuda_gelu_rows_gradient(const Tensor&, const Tensor&, bool) {
  fail("this program was built without CUDA kernels");
}

std::unique_ptr<FusedOptimizer> FusedOptimizer::make(const std::vector<FusedParameter>&,
                                                     const Rule&) {
  return {};
}

}  // namespace perceiver
