// What a pickle may build: the list, and the functions that stand for the constructors.
#pragma once

#include <optional>

#include "perceiver/weights/pickle.h"

namespace perceiver {

using PickleArgs = std::vector<PickleValue*>;

struct PickleName {
  std::string_view name;  // "numpy.dtype"
  // Stands for a call; null for what is only an argument.
  PickleValue* (*call)(PickleHeap&, const PickleArgs&) = nullptr;
  std::optional<at::ScalarType> storage_dtype = std::nullopt;  // of torch's storage classes
};

// Fails with the name when it is not on the list.
const PickleName* find_pickle_name(const PickleHeap& heap, std::string_view module,
                                   std::string_view name);

// Gives an object its state: fills an array, sets a dtype's byte order.
void set_pickle_state(PickleHeap& heap, PickleValue& object, const PickleValue& state);

// numpy's arrays, in pickle_numpy.cpp.
PickleValue* numpy_reconstruct(PickleHeap& heap, const PickleArgs& args);
PickleValue* numpy_from_buffer(PickleHeap& heap, const PickleArgs& args);
PickleValue* numpy_scalar(PickleHeap& heap, const PickleArgs& args);
PickleValue* numpy_dtype(PickleHeap& heap, const PickleArgs& args);
void set_numpy_array_state(PickleHeap& heap, PickleTensor& array, const PickleValue& state);
void check_numpy_dtype_state(const PickleHeap& heap, const PickleValue& state);

// torch's tensors, in pickle_torch.cpp.
PickleValue* torch_rebuild_tensor(PickleHeap& heap, const PickleArgs& args);
PickleValue* torch_rebuild_parameter(PickleHeap& heap, const PickleArgs& args);
PickleValue* torch_storage(PickleHeap& heap, const PickleValue& id);

// args[i] as a T; fails with the constructor's name otherwise.
template <typename T>
T& pickle_arg(const PickleHeap& heap, const PickleArgs& args, size_t i, std::string_view call);

// A tuple of integers of at least 0, such as a shape.
std::vector<int64_t> pickle_sizes(const PickleHeap& heap, const PickleArgs& args, size_t i,
                                  std::string_view call);

[[noreturn]] void bad_pickle_arg(const PickleHeap& heap, const PickleArgs& args, size_t i,
                                 std::string_view call);

template <typename T>
T& pickle_arg(const PickleHeap& heap, const PickleArgs& args, size_t i, std::string_view call) {
  T* value = i < args.size() ? std::get_if<T>(&args[i]->data) : nullptr;
  if (!value) bad_pickle_arg(heap, args, i, call);
  return *value;
}

}  // namespace perceiver
