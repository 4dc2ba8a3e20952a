#include <ATen/ops/as_strided.h>

#include "perceiver/core/error.h"
#include "perceiver/weights/pickle_build.h"

namespace perceiver {

namespace {

// Fails unless all elements lie in the storage. More elements than it has are refused too: an
// expanded tensor takes no bytes in the file and any number in memory.
void check_view(const PickleHeap& heap, const Tensor& storage, const std::vector<int64_t>& sizes,
                const std::vector<int64_t>& strides, int64_t offset) {
  bool bad =
      sizes.size() != strides.size() || offset < 0 || !num_bytes(sizes, storage.scalar_type());
  int64_t num_elements = 1, last = offset;
  for (size_t i = 0; i < sizes.size() && !bad; ++i) {
    num_elements *= sizes[i];
    int64_t reach = 0;
    bad = __builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &reach) ||
          __builtin_add_overflow(last, reach, &last);
  }
  bad = bad || num_elements > storage.numel() || offset > storage.numel() ||
        (num_elements > 0 && last >= storage.numel());
  if (bad) {
    fail("{}: tensor of shape {}, strides {} and offset {} in a storage of {} elements",
         heap.file().name, to_string(sizes), to_string(strides), offset, storage.numel());
  }
}

}  // namespace

// _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks)
PickleValue* torch_rebuild_tensor(PickleHeap& heap, const PickleArgs& args) {
  constexpr std::string_view kCall = "_rebuild_tensor_v2";
  const Tensor& storage = pickle_arg<PickleStorage>(heap, args, 0, kCall).elements;
  const int64_t offset = pickle_arg<int64_t>(heap, args, 1, kCall);
  const std::vector<int64_t> sizes = pickle_sizes(heap, args, 2, kCall);
  const std::vector<int64_t> strides = pickle_sizes(heap, args, 3, kCall);
  check_view(heap, storage, sizes, strides, offset);
  return heap.add(PickleTensor{at::as_strided(storage, sizes, strides, offset)});
}

// _rebuild_parameter(tensor, requires_grad, hooks)
PickleValue* torch_rebuild_parameter(PickleHeap& heap, const PickleArgs& args) {
  pickle_arg<PickleTensor>(heap, args, 0, "_rebuild_parameter");
  return args[0];
}

// ("storage", torch.FloatStorage, key, device, num_elements)
PickleValue* torch_storage(PickleHeap& heap, const PickleValue& id) {
  constexpr std::string_view kCall = "a persistent id";
  const auto* tuple = std::get_if<PickleTuple>(&id.data);
  if (!heap.load_storage() || !tuple) {
    fail("{}: pickle refers to something outside it, {}", heap.file().name, describe(id));
  }
  const PickleArgs& args = tuple->items;
  if (pickle_arg<PickleText>(heap, args, 0, kCall).text != "storage") {
    bad_pickle_arg(heap, args, 0, kCall);
  }
  const auto& type = pickle_arg<PickleGlobal>(heap, args, 1, kCall);
  if (!type.name->storage_dtype) bad_pickle_arg(heap, args, 1, kCall);
  return heap.add(PickleStorage{
      heap.load_storage()({.key = std::string(pickle_arg<PickleText>(heap, args, 2, kCall).text),
                           .dtype = *type.name->storage_dtype,
                           .num_elements = pickle_arg<int64_t>(heap, args, 4, kCall)})});
}

}  // namespace perceiver
