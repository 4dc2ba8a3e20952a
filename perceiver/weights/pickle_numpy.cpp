#include <numeric>

#include "perceiver/core/error.h"
#include "perceiver/weights/pickle_build.h"

namespace perceiver {

namespace {

struct NumpyDtype {
  std::string_view code;
  at::ScalarType type;
};
constexpr NumpyDtype kNumpyDtypes[] = {
    {"f8", at::kDouble}, {"f4", at::kFloat}, {"f2", at::kHalf}, {"i8", at::kLong}, {"i4", at::kInt},
    {"i2", at::kShort},  {"i1", at::kChar},  {"u1", at::kByte}, {"b1", at::kBool},
};

// Copies an array out of the file; in Fortran's order the first index runs fastest.
Tensor copy_array(PickleHeap& heap, std::string_view bytes, at::ScalarType dtype,
                  const std::vector<int64_t>& shape, bool fortran_order) {
  const std::string what = heap.file().name + ": array";
  const std::optional<int64_t> expected = num_bytes(shape, dtype);
  if (!expected) fail("{} has the impossible shape {}", what, to_string(shape));
  if (static_cast<uint64_t>(*expected) != bytes.size()) {
    fail("{} has {} bytes, its shape {} of {} needs {}", what, bytes.size(), to_string(shape),
         at::toString(dtype), *expected);
  }
  heap.spend(bytes.size());
  if (!fortran_order) return copy_tensor(bytes, shape, dtype, what);
  const std::vector<int64_t> reversed(shape.rbegin(), shape.rend());
  std::vector<int64_t> backwards(shape.size());
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  return copy_tensor(bytes, reversed, dtype, what).permute(backwards).contiguous();
}

}  // namespace

// _reconstruct(ndarray, (0,), b"b"): an array to be filled by its state.
PickleValue* numpy_reconstruct(PickleHeap& heap, const PickleArgs& args) {
  const auto& type = pickle_arg<PickleGlobal>(heap, args, 0, "_reconstruct");
  if (type.name->name != "numpy.ndarray") bad_pickle_arg(heap, args, 0, "_reconstruct");
  return heap.add(PickleTensor{});
}

// _frombuffer(bytes, dtype, shape, "C" or "F"), as protocol 5 has it.
PickleValue* numpy_from_buffer(PickleHeap& heap, const PickleArgs& args) {
  constexpr std::string_view kCall = "_frombuffer";
  const std::string_view bytes = pickle_arg<PickleBytes>(heap, args, 0, kCall).bytes;
  const at::ScalarType dtype = pickle_arg<PickleDtype>(heap, args, 1, kCall).type;
  const std::vector<int64_t> shape = pickle_sizes(heap, args, 2, kCall);
  const std::string_view order = pickle_arg<PickleText>(heap, args, 3, kCall).text;
  if (order != "C" && order != "F") bad_pickle_arg(heap, args, 3, kCall);
  return heap.add(PickleTensor{copy_array(heap, bytes, dtype, shape, order == "F")});
}

// scalar(dtype, bytes)
PickleValue* numpy_scalar(PickleHeap& heap, const PickleArgs& args) {
  const at::ScalarType dtype = pickle_arg<PickleDtype>(heap, args, 0, "scalar").type;
  const std::string_view bytes = pickle_arg<PickleBytes>(heap, args, 1, "scalar").bytes;
  return heap.add(PickleTensor{copy_array(heap, bytes, dtype, {}, /*fortran_order=*/false)});
}

// dtype("f4", False, True)
PickleValue* numpy_dtype(PickleHeap& heap, const PickleArgs& args) {
  const std::string_view code = pickle_arg<PickleText>(heap, args, 0, "dtype").text;
  std::string known;
  for (const NumpyDtype& dtype : kNumpyDtypes) {
    if (dtype.code == code) return heap.add(PickleDtype{dtype.type});
    known += fmt::format("{}{}", known.empty() ? "" : ", ", dtype.code);
  }
  fail("{}: array of numpy dtype '{}', expected one of {}", heap.file().name, printable(code),
       known);
}

// (version, shape, dtype, fortran_order, bytes)
void set_numpy_array_state(PickleHeap& heap, PickleTensor& array, const PickleValue& state) {
  constexpr std::string_view kCall = "an array's state";
  const auto* tuple = std::get_if<PickleTuple>(&state.data);
  if (!tuple) fail("{}: pickle fills an array with {}", heap.file().name, describe(state));
  if (array.tensor.defined()) fail("{}: pickle fills an array twice", heap.file().name);
  const PickleArgs& args = tuple->items;
  const std::vector<int64_t> shape = pickle_sizes(heap, args, 1, kCall);
  const at::ScalarType dtype = pickle_arg<PickleDtype>(heap, args, 2, kCall).type;
  const bool fortran_order = pickle_arg<bool>(heap, args, 3, kCall);
  const std::string_view bytes = pickle_arg<PickleBytes>(heap, args, 4, kCall).bytes;
  array.tensor = copy_array(heap, bytes, dtype, shape, fortran_order);
}

// (version, byte order, subarray, names, fields, ...): fields would make it a record.
void check_numpy_dtype_state(const PickleHeap& heap, const PickleValue& state) {
  constexpr std::string_view kCall = "a dtype's state";
  const auto* tuple = std::get_if<PickleTuple>(&state.data);
  if (!tuple) fail("{}: pickle sets a dtype's state to {}", heap.file().name, describe(state));
  const PickleArgs& args = tuple->items;
  const std::string_view order = pickle_arg<PickleText>(heap, args, 1, kCall).text;
  if (order == ">") {
    fail("{}: array is big-endian, expected little-endian; save array.astype('<f4')",
         heap.file().name);
  }
  if (order != "<" && order != "|" && order != "=") bad_pickle_arg(heap, args, 1, kCall);
  for (const size_t i : {2, 3, 4}) pickle_arg<PickleNone>(heap, args, i, kCall);
}

}  // namespace perceiver
