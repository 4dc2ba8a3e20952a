#include "perceiver/kernels/cuda/optimizer_table.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "perceiver/kernels/cuda/optimizer.h"

namespace perceiver {
namespace {

int chunks_of(const FusedTensor& tensor) {
  return static_cast<int>((tensor.count + kFusedChunk - 1) / kFusedChunk);
}

// Hands out the parts of one allocation, each aligned to 16 bytes; counts alone from null.
class Parts {
 public:
  explicit Parts(void* memory) : begin_(static_cast<std::byte*>(memory)) {}

  template <typename T>
  T* take(size_t count) {
    const size_t at = used_;
    used_ += (count * sizeof(T) + 15) / 16 * 16;
    return begin_ != nullptr ? reinterpret_cast<T*>(begin_ + at) : nullptr;
  }
  size_t used() const { return used_; }

 private:
  std::byte* begin_;
  size_t used_ = 0;
};

FusedTable lay_out(std::span<const FusedTensor> tensors, Parts& parts) {
  FusedTable table = {.num_tensors = static_cast<int>(tensors.size())};
  for (const FusedTensor& tensor : tensors) table.num_chunks += chunks_of(tensor);
  table.gradients = parts.take<const float*>(tensors.size());
  table.entries = parts.take<FusedEntry>(tensors.size());
  table.chunks = parts.take<FusedChunk>(table.num_chunks);
  table.squares = parts.take<float>(3 * static_cast<size_t>(table.num_chunks));
  table.ratios = parts.take<float>(tensors.size());
  table.rates = parts.take<FusedRates>(1);
  table.gradient_norm = parts.take<float>(1);
  table.gradient_factor = parts.take<float>(1);
  return table;
}

template <typename T>
cudaError_t copy(T* to, const T* from, size_t count, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream);
}

}  // namespace

FusedRates fused_rates(const FusedRule& rule, double learning_rate, int64_t steps) {
  const auto n = static_cast<double>(steps);
  return {.learning_rate = static_cast<float>(learning_rate),
          .correction1 = static_cast<float>(1.0 - std::pow(rule.beta1, n)),
          .root_correction2 = static_cast<float>(std::sqrt(1.0 - std::pow(rule.beta2, n)))};
}

size_t fused_table_bytes(std::span<const FusedTensor> tensors) {
  Parts parts(nullptr);
  lay_out(tensors, parts);
  return parts.used();
}

cudaError_t build_fused_table(std::span<const FusedTensor> tensors, void* memory, FusedTable* table,
                              cudaStream_t stream) {
  Parts parts(memory);
  *table = lay_out(tensors, parts);
  std::vector<const float*> gradients;
  std::vector<FusedEntry> entries;
  std::vector<FusedChunk> chunks;
  for (const FusedTensor& t : tensors) {
    gradients.push_back(t.gradient);
    entries.push_back({.value = t.value,
                       .first = t.first,
                       .second = t.second,
                       .count = t.count,
                       .first_chunk = static_cast<int>(chunks.size()),
                       .num_chunks = chunks_of(t),
                       .decayed = t.decayed});
    const int tensor = static_cast<int>(entries.size()) - 1;
    for (int i = 0; i < chunks_of(t); ++i) chunks.push_back({.tensor = tensor, .index = i});
  }
  cudaError_t error = set_gradients(*table, gradients.data(), stream);
  if (error == cudaSuccess) error = copy(table->entries, entries.data(), entries.size(), stream);
  if (error == cudaSuccess) error = copy(table->chunks, chunks.data(), chunks.size(), stream);
  return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

cudaError_t set_rates(const FusedTable& table, const FusedRates* rates, cudaStream_t stream) {
  return copy(table.rates, rates, 1, stream);
}

cudaError_t set_gradients(const FusedTable& table, const float* const* gradients,
                          cudaStream_t stream) {
  return copy(table.gradients, const_cast<const float**>(gradients),
              static_cast<size_t>(table.num_tensors), stream);
}

}  // namespace perceiver
