#include "perceiver/weights/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "perceiver/core/atomic_file.h"
#include "perceiver/core/error.h"
#include "perceiver/weights/safetensors_header.h"

namespace perceiver {

namespace {

struct Dtype {
  std::string_view name;
  at::ScalarType type;
};
constexpr Dtype kDtypes[] = {
    {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf},  {"BF16", at::kBFloat16},
    {"I64", at::kLong},   {"I32", at::kInt},   {"I16", at::kShort}, {"I8", at::kChar},
    {"U8", at::kByte},    {"BOOL", at::kBool},
};

std::string known_dtypes() {
  std::string known;
  for (const Dtype& dtype : kDtypes) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", dtype.name);
  }
  return known;
}

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as the reference implementation has it

// Header, then data.
std::pair<Bytes, Bytes> split_header(const Bytes& file) {
  const uint64_t size = file.data.size();
  if (size < kLengthBytes) {
    fail("{}: {} bytes, too few for the 8 of a header's length", file.name, size);
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    fail("{}: header of {} bytes, expected at most {}", file.name, length, kMaxHeaderBytes);
  }
  if (length > size - kLengthBytes) {
    fail("{}: header ends at byte {}, the file has {}", file.name, kLengthBytes + length, size);
  }
  const uint64_t data_begin = kLengthBytes + length;
  return {slice(file, kLengthBytes, length), slice(file, data_begin, size - data_begin)};
}

at::ScalarType find_dtype(const SafetensorsEntry& entry, std::string_view tensor) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == entry.dtype) return dtype.type;
  }
  fail("{} has dtype '{}', expected one of {}", tensor, printable(entry.dtype), known_dtypes());
}

// The entries in the order of their bytes; fails unless they cover the data exactly.
using Entry = std::pair<const std::string, SafetensorsEntry>;
std::vector<const Entry*> in_order(const SafetensorsHeader& header, const Bytes& data) {
  std::vector<const Entry*> entries;
  for (const Entry& entry : header.entries) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->second.offsets < b->second.offsets; });
  uint64_t covered = 0;
  for (const Entry* entry : entries) {
    const uint64_t begin = entry->second.offsets[0], end = entry->second.offsets[1];
    if (begin != covered) {
      fail("{}: tensor '{}' begins at byte {} of the data, the one before ends at {}", data.name,
           printable(entry->first), begin, covered);
    }
    if (end < begin) {
      fail("{}: tensor '{}' begins at byte {} of the data and ends at {}", data.name,
           printable(entry->first), begin, end);
    }
    if (end > data.data.size()) {
      fail("{}: tensor '{}' ends at byte {} of the data, the file has {}", data.name,
           printable(entry->first), end, data.data.size());
    }
    covered = end;
  }
  if (covered != data.data.size()) {
    fail("{}: the tensors end at byte {} of the data, the file has {}", data.name, covered,
         data.data.size());
  }
  return entries;
}

Tensor entry_tensor(const Bytes& data, const std::string& name, const SafetensorsEntry& entry) {
  const std::string tensor = fmt::format("{}: tensor '{}'", data.name, printable(name));
  const at::ScalarType dtype = find_dtype(entry, tensor);
  const uint64_t size = entry.offsets[1] - entry.offsets[0];
  const std::optional<int64_t> expected = num_bytes(entry.shape, dtype);
  if (!expected) fail("{} has the impossible shape {}", tensor, to_string(entry.shape));
  if (static_cast<uint64_t>(*expected) != size) {
    fail("{} has {} bytes, its shape {} of {} needs {}", tensor, size, to_string(entry.shape),
         entry.dtype, *expected);
  }
  return view_tensor(slice(data, entry.offsets[0], size), entry.shape, dtype, tensor);
}

// Everything before the tensors, padded so that they begin at a multiple of 8.
std::string encode_header(const NamedTensors& tensors, const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string_view> names;
  int64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const bool is_new = names.insert(name).second;
    TORCH_INTERNAL_ASSERT(is_new && name != "__metadata__", name);
    const int64_t begin = end;
    end += static_cast<int64_t>(tensor.nbytes());
    // Not header[name]: an ordered object looks through all its keys for it.
    header.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(
        name, nlohmann::ordered_json{{"dtype", safetensors_dtype(tensor.scalar_type())},
                                     {"shape", tensor.sizes().vec()},
                                     {"data_offsets", {begin, end}}});
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    fail("a name or value for a safetensors header is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string start(kLengthBytes, '\0');
  std::memcpy(start.data(), &length, kLengthBytes);
  return start + text;
}

// Calls sink(string_view) with the file, a tensor at a time.
template <typename Sink>
void encode_to(const Sink& sink, const NamedTensors& tensors, const Metadata& metadata) {
  sink(encode_header(tensors, metadata));
  for (const auto& [name, tensor] : tensors) {
    const Tensor plain = tensor.detach().cpu().contiguous();
    sink(std::string_view(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()));
  }
}

}  // namespace

Safetensors read_safetensors(const std::filesystem::path& path) {
  return decode_safetensors(map_file(path));
}

Safetensors decode_safetensors(File file) { return decode_safetensors(own_bytes(std::move(file))); }

Safetensors decode_safetensors(const Bytes& file) {
  const auto [json, data] = split_header(file);
  const SafetensorsHeader header = parse_safetensors_header(json.data, file.name);
  Safetensors result;
  for (const Entry* entry : in_order(header, data)) {
    result.tensors[entry->first] = entry_tensor(data, entry->first, entry->second);
  }
  result.metadata = header.metadata;
  return result;
}

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const Metadata& metadata) {
  AtomicFile file(path);
  encode_to([&file](std::string_view bytes) { file.write(bytes); }, tensors, metadata);
  file.commit();
}

std::string encode_safetensors(const NamedTensors& tensors, const Metadata& metadata) {
  std::string bytes;
  encode_to([&bytes](std::string_view more) { bytes += more; }, tensors, metadata);
  return bytes;
}

std::string_view safetensors_dtype(at::ScalarType type) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.type == type) return dtype.name;
  }
  fail("a tensor of {} cannot be written as safetensors, only {}", at::toString(type),
       known_dtypes());
}

}  // namespace perceiver
