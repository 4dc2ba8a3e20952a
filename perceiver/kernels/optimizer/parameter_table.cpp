#include "perceiver/kernels/optimizer/parameter_table.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "perceiver/kernels/optimizer/optimizer_step.h"

namespace perceiver {
namespace {

int chunks_of(const FusedTensor& tensor, int elements) {
  return static_cast<int>((tensor.count + elements - 1) / elements);
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
  for (const FusedTensor& tensor : tensors) {
    table.num_chunks += chunks_of(tensor, kFusedChunk);
    table.num_items += chunks_of(tensor, kLambItem);
  }
  table.gradients = parts.take<const float*>(tensors.size());
  table.entries = parts.take<FusedEntry>(tensors.size());
  table.chunks = parts.take<FusedChunk>(table.num_chunks);
  table.items = parts.take<FusedChunk>(table.num_items);
  table.chunk_squares = parts.take<float>(table.num_chunks);
  table.tensor_squares = parts.take<float>(tensors.size());
  table.sums = parts.take<FusedSums>(table.num_items);
  table.ratios = parts.take<FusedRatio>(tensors.size());
  table.step = parts.take<uint32_t>(1);
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
  LambRoom room{};
  cudaError_t error = lamb_room(&room);
  table->lamb_blocks = room.blocks;
  table->lamb_slots = room.slots;
  std::vector<const float*> gradients;
  std::vector<FusedEntry> entries;
  std::vector<FusedChunk> items, chunks;
  for (const FusedTensor& t : tensors) {
    const int num_items = chunks_of(t, kLambItem);
    gradients.push_back(t.gradient);
    entries.push_back(
        {.value = t.value,
         .first = t.first,
         .second = t.second,
         .count = t.count,
         .narrow = static_cast<uint16_t*>(t.narrow),
         .narrow_channels = t.narrow_stride == t.narrow_channels ? 0 : t.narrow_channels,
         .narrow_stride = t.narrow_stride,
         .first_item = static_cast<int>(items.size()),
         .num_items = num_items,
         .decayed = t.decayed,
         .kept = num_items <= int64_t{room.blocks} * room.slots});
    const int tensor = static_cast<int>(entries.size()) - 1;
    for (int i = 0; i < num_items; ++i) items.push_back({.tensor = tensor, .index = i});
  }
  for (const bool kept : {true, false}) {
    for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      if (entries[tensor].kept != kept) continue;
      for (int i = 0; i < chunks_of(tensors[tensor], kFusedChunk); ++i) {
        chunks.push_back({.tensor = static_cast<int>(tensor), .index = i});
      }
    }
    if (kept) table->num_kept_chunks = static_cast<int>(chunks.size());
  }
  // No sum or ratio is of a step that will be.
  if (error == cudaSuccess) error = cudaMemsetAsync(memory, 0, parts.used(), stream);
  if (error == cudaSuccess) error = set_gradients(*table, gradients.data(), stream);
  if (error == cudaSuccess) error = copy(table->entries, entries.data(), entries.size(), stream);
  if (error == cudaSuccess) error = copy(table->items, items.data(), items.size(), stream);
  if (error == cudaSuccess) error = copy(table->chunks, chunks.data(), chunks.size(), stream);
  const uint32_t one = 1;
  if (error == cudaSuccess) error = copy(table->step, &one, 1, stream);
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
