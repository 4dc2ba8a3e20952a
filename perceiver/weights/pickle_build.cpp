#include "perceiver/weights/pickle_build.h"

#include "perceiver/core/error.h"

namespace perceiver {

namespace {

// dict(), OrderedDict(), FlatMapping({...}): the mapping itself. Entries of a plain or ordered one
// come after the call.
PickleValue* mapping(PickleHeap& heap, const PickleArgs& args) {
  if (args.empty()) return heap.add(PickleDict{});
  pickle_arg<PickleDict>(heap, args, 0, "a mapping");
  return args[0];
}

// Protocol 2 has no bytes: it writes their Latin-1 text and a call of encode().
PickleValue* encode_latin1(PickleHeap& heap, const PickleArgs& args) {
  const std::string_view text = pickle_arg<PickleText>(heap, args, 0, "encode").text;
  const std::string_view codec = pickle_arg<PickleText>(heap, args, 1, "encode").text;
  if (codec != "latin1" && codec != "latin-1") {
    fail("{}: pickle encodes as '{}', expected latin1", heap.file().name, printable(codec));
  }
  heap.spend(text.size());
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    if (c < 0x80) {
      bytes += text[i];
      continue;
    }
    // Two bytes of UTF-8 that start with C2 or C3 are the characters U+0080 to U+00FF.
    const auto next = static_cast<uint8_t>(i + 1 < text.size() ? text[i + 1] : 0);
    if ((c != 0xc2 && c != 0xc3) || (next & 0xc0) != 0x80) {
      fail("{}: pickle encodes a text that is not Latin-1", heap.file().name);
    }
    bytes += static_cast<char>((c & 0x03) << 6 | (next & 0x3f));
    ++i;
  }
  return heap.add(PickleBytes{heap.keep(std::move(bytes))});
}

// bytes(), bytearray(): empty, bytes themselves, or bytearray(text, "latin-1").
PickleValue* bytes(PickleHeap& heap, const PickleArgs& args) {
  if (args.empty()) return heap.add(PickleBytes{});
  if (args.size() == 2) return encode_latin1(heap, args);
  pickle_arg<PickleBytes>(heap, args, 0, "bytes");
  return args[0];
}

// Everything a pickle may name. numpy's modules have an underscore since 2.0.
constexpr PickleName kNames[] = {
    {"builtins.dict", mapping},
    {"__builtin__.dict", mapping},
    {"builtins.bytes", bytes},
    {"__builtin__.bytes", bytes},
    {"builtins.bytearray", bytes},
    {"__builtin__.bytearray", bytes},
    {"_codecs.encode", encode_latin1},
    {"collections.OrderedDict", mapping},
    {"haiku._src.data_structures.FlatMapping", mapping},
    {"haiku._src.data_structures.FlatMap", mapping},
    {"haiku._src.data_structures.to_haiku_dict", mapping},
    {"numpy.ndarray"},
    {"numpy.dtype", numpy_dtype},
    {"numpy.core.multiarray._reconstruct", numpy_reconstruct},
    {"numpy._core.multiarray._reconstruct", numpy_reconstruct},
    {"numpy.core.multiarray.scalar", numpy_scalar},
    {"numpy._core.multiarray.scalar", numpy_scalar},
    {"numpy.core.numeric._frombuffer", numpy_from_buffer},
    {"numpy._core.numeric._frombuffer", numpy_from_buffer},
    {"torch._utils._rebuild_tensor_v2", torch_rebuild_tensor},
    {"torch._utils._rebuild_parameter", torch_rebuild_parameter},
    {"torch.DoubleStorage", nullptr, at::kDouble},
    {"torch.FloatStorage", nullptr, at::kFloat},
    {"torch.HalfStorage", nullptr, at::kHalf},
    {"torch.BFloat16Storage", nullptr, at::kBFloat16},
    {"torch.LongStorage", nullptr, at::kLong},
    {"torch.IntStorage", nullptr, at::kInt},
    {"torch.ShortStorage", nullptr, at::kShort},
    {"torch.CharStorage", nullptr, at::kChar},
    {"torch.ByteStorage", nullptr, at::kByte},
    {"torch.BoolStorage", nullptr, at::kBool},
};

}  // namespace

const PickleName* find_pickle_name(const PickleHeap& heap, std::string_view module,
                                   std::string_view name) {
  const std::string full = fmt::format("{}.{}", module, name);
  for (const PickleName& known : kNames) {
    if (known.name == full) return &known;
  }
  const bool is_jax = module == "jax" || module.starts_with("jax.") || module.starts_with("jaxlib");
  fail("{}: pickle names '{}', which is not on the list of what may be built{}", heap.file().name,
       printable(full), is_jax ? "; save jax.device_get(params), which are numpy arrays" : "");
}

void set_pickle_state(PickleHeap& heap, PickleValue& object, const PickleValue& state) {
  if (auto* array = std::get_if<PickleTensor>(&object.data)) {
    set_numpy_array_state(heap, *array, state);
  } else if (std::holds_alternative<PickleDtype>(object.data)) {
    check_numpy_dtype_state(heap, state);
  } else if (std::holds_alternative<PickleDict>(object.data) &&
             std::holds_alternative<PickleDict>(state.data)) {
    // Attributes of an OrderedDict: the _metadata of torch's state_dict(), of no use here.
  } else {
    fail("{}: pickle sets the state of {}", heap.file().name, describe(object));
  }
}

void bad_pickle_arg(const PickleHeap& heap, const PickleArgs& args, size_t i,
                    std::string_view call) {
  if (i >= args.size()) {
    fail("{}: pickle gives {} only {} arguments", heap.file().name, call, args.size());
  }
  fail("{}: pickle gives {} {} as argument {}", heap.file().name, call, describe(*args[i]), i + 1);
}

std::vector<int64_t> pickle_sizes(const PickleHeap& heap, const PickleArgs& args, size_t i,
                                  std::string_view call) {
  const auto& items = pickle_arg<PickleTuple>(heap, args, i, call).items;
  if (items.size() > kMaxDimensions) bad_pickle_arg(heap, args, i, call);
  std::vector<int64_t> sizes;
  for (const PickleValue* item : items) {
    const auto* size = std::get_if<int64_t>(&item->data);
    if (!size || *size < 0) bad_pickle_arg(heap, args, i, call);
    sizes.push_back(*size);
  }
  return sizes;
}

}  // namespace perceiver
