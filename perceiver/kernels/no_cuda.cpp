// A program without CUDA kernels: LibTorch has no CUDA, or there is no nvcc.
#include "perceiver/core/error.h"
#include "perceiver/kernels/attention/few_keys_torch.h"
#include "perceiver/kernels/attention/narrow_heads_sm90_torch.h"
#include "perceiver/kernels/attention/score_blocks_torch.h"
#include "perceiver/kernels/attention/wide_heads_sm90_torch.h"
#include "perceiver/kernels/cuda/gpu_torch.h"
#include "perceiver/kernels/embedding/embedding_torch.h"
#include "perceiver/kernels/embedding/neighbourhoods_torch.h"
#include "perceiver/kernels/embedding/row_tables_torch.h"
#include "perceiver/kernels/graph_recorder.h"
#include "perceiver/kernels/linear/cublaslt_torch.h"
#include "perceiver/kernels/linear/gemm_sm90_torch.h"
#include "perceiver/kernels/linear/narrow_mlp_sm90_torch.h"
#include "perceiver/kernels/norm/normalised_rows_torch.h"
#include "perceiver/kernels/norm/training_rows_torch.h"
#include "perceiver/kernels/optimizer/fused_optimizer.h"

namespace perceiver {

[[noreturn]] static void refuse() { fail("{}", kNoKernels); }

Gpu gpu_here(at::Device) { return {}; }

Tensor cuda_attend_narrow(const AttentionInputs&) { refuse(); }

AttentionResult cuda_attend_resident(const AttentionInputs&) { refuse(); }

AttentionGradients cuda_resident_gradients(const AttentionInputs&, const AttentionResult&,
                                           const Tensor&) {
  refuse();
}

Tensor cuda_attend_hopper(const Tensor&, const Tensor&, const Tensor&, const Tensor&, double,
                          Tensor*) {
  refuse();
}

void cuda_attend_hopper_into(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                             const Tensor&, double, Tensor*) {
  refuse();
}

bool cuda_product_takes(const Product&) { return false; }

Tensor cuda_multiplied(const Product&) { refuse(); }

std::vector<Tensor> cuda_multiplied_by_each(const Product&) { refuse(); }

bool cuda_measured_product_takes(const Product&) { return false; }

MeasuredRows cuda_multiplied_and_measured(const Product&, int64_t) { refuse(); }

bool cuda_normed_product_takes(const MeasuredRows&, const NormedLayer&) { return false; }

Tensor cuda_multiplied_normed(const MeasuredRows&, const NormedLayer&, bool) { refuse(); }

bool cuda_narrow_mlp_takes(const NarrowMlpLayers&) { return false; }

Tensor cuda_packed_narrow_mlp(const NarrowMlpLayers&) { refuse(); }

Tensor cuda_narrow_mlp(const Tensor&, const NarrowMlpLayers&, const Tensor&, const Tensor&) {
  refuse();
}

bool cuda_scores_take(const Tensor&) { return false; }

Tensor cuda_softmax(const Tensor&, const Tensor&, double) { refuse(); }

void cuda_recompute_weights(const Tensor&, const Tensor&, const Tensor&, double) { refuse(); }

void cuda_score_gradient(const Tensor&, const Tensor&, const Tensor&, double) { refuse(); }

bool cuda_rows_take(const Tensor&, at::ScalarType) { return false; }

Tensor cuda_normalised(const Tensor&, at::ScalarType, int64_t, bool) { refuse(); }

AddedRows cuda_add_normalised(const Tensor&, const Tensor&) { refuse(); }

bool cuda_placed_rows_take(const PlacedArray&) { return false; }

Tensor cuda_normalised_placed(const PlacedArray&) { refuse(); }

bool cuda_neighbourhoods_take(const Tensor&, int64_t) { return false; }

Tensor cuda_neighbourhood_rows(const Tensor&, int64_t) { refuse(); }

bool cuda_training_rows_take(const Tensor&, at::ScalarType) { return false; }

NormedRows cuda_layer_norm_rows(const RowTerms&, const Tensor&, const Tensor&, int64_t) {
  refuse();
}

NormGradients cuda_layer_norm_rows_gradient(const Tensor&, const NormedRows&, const Tensor&,
                                            const Tensor&, WantedRows, const RowSum&) {
  refuse();
}

Tensor cuda_added_rows(const RowTerms&) { refuse(); }

SummedRows cuda_narrowed_rows(const Tensor&, int64_t) { refuse(); }

Tensor cuda_copy_and_sum(const Tensor&, const Tensor&) { refuse(); }

RowSum cuda_sum_later(const Tensor&) { refuse(); }

RowsToSum cuda_gelu_rows_gradient(const Tensor&, const Tensor&, bool) { refuse(); }

bool cuda_tables_take(const RowTables&, const Tensor&, at::ScalarType) { return false; }

Tensor cuda_looked_up(const RowTables&, const Tensor&, at::ScalarType) { refuse(); }

bool cuda_embedding_takes(const Tensor&, const Tensor&, const Tensor&) { return false; }

Tensor cuda_embedded(const Tensor&, const Tensor&, const Tensor&) { refuse(); }

EmbeddingGradients cuda_embedding_gradients(const Tensor&, const Tensor&, int64_t, bool) {
  refuse();
}

class GraphRecorder::Recordings {};

GraphRecorder::GraphRecorder(const RecordingOptions&) {}

GraphRecorder::~GraphRecorder() = default;

std::optional<GraphRecorder::Tensors> GraphRecorder::replay(const Tensors&, const Tensors&,
                                                            const Pass&) {
  return {};
}

std::unique_ptr<FusedOptimizer> FusedOptimizer::make(const std::vector<FusedParameter>&,
                                                     const Rule&) {
  return {};
}

}  // namespace perceiver
