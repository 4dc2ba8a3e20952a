#include "perceiver/weights/npy.h"

#include <ATen/ATen.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "perceiver/core/error.h"
#include "perceiver/weights/zip.h"

namespace perceiver {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kEnding = ".npy";
constexpr size_t kAlignment = 64;  // of the data, as numpy writes it

// Deflate makes 1,032 zeros of a byte; a mask that is true everywhere comes close.
constexpr uint64_t kMaxExpansion = 1032;

struct Dtype {
  std::string_view name;  // without the byte order
  at::ScalarType type;
};
constexpr Dtype kDtypes[] = {
    {"f8", at::kDouble}, {"f4", at::kFloat},  {"f2", at::kHalf}, {"i8", at::kLong},
    {"i4", at::kInt},    {"i2", at::kShort},  {"i1", at::kChar}, {"u8", at::kUInt64},
    {"u4", at::kUInt32}, {"u2", at::kUInt16}, {"u1", at::kByte}, {"b1", at::kBool},
};

struct Header {
  at::ScalarType dtype = at::kFloat;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

at::ScalarType dtype_of(const std::string& name, std::string_view descr) {
  const bool big = descr.starts_with('>');
  const std::string_view bare = descr.empty() ? descr : descr.substr(1);
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name != bare) continue;
    if (big && at::elementSize(dtype.type) > 1) {
      fail("{}: numbers of dtype '{}' are big-endian; save array.astype('<{}')", name, descr, bare);
    }
    return dtype.type;
  }
  fail("{}: dtype '{}', expected numbers: float16 to 64, int8 to 64, uint8 to 64 or bool", name,
       printable(descr));
}

// The dictionary as numpy writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(const std::string& name, std::string_view text) : name_(name), rest_(text) {}

  Header read() {
    Header header;
    int seen = 0;
    take("{");
    while (!peek("}")) {
      const std::string_view key = word();
      take(":");
      if (key == "descr") {
        header.dtype = dtype_of(name_, word());
        seen |= 1;
      } else if (key == "fortran_order") {
        header.fortran_order = peek("True");
        take(header.fortran_order ? "True" : "False");
        seen |= 2;
      } else if (key == "shape") {
        header.shape = shape();
        seen |= 4;
      } else {
        broken();
      }
      if (!peek("}")) take(",");
    }
    if (seen != 7) broken();
    return header;
  }

 private:
  [[noreturn]] void broken() { fail("{}: the header of this .npy is broken", name_); }

  bool peek(std::string_view token) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size()));
    return rest_.starts_with(token);
  }
  void take(std::string_view token) {
    if (!peek(token)) broken();
    rest_.remove_prefix(token.size());
  }
  std::string_view word() {
    if (peek("[")) fail("{}: an array of records, expected one of numbers", name_);
    take("'");
    const size_t end = rest_.find('\'');
    if (end == rest_.npos) broken();
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> sizes;
    take("(");
    while (!peek(")")) {
      int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0 || sizes.size() >= kMaxDimensions) broken();
      rest_.remove_prefix(end - rest_.data());
      sizes.push_back(size);
      if (!peek(")")) take(",");
    }
    take(")");
    return sizes;
  }

  const std::string& name_;
  std::string_view rest_;
};

template <typename T>
std::string number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

std::string_view descr_of(at::ScalarType type) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.type == type) return dtype.name;
  }
  fail("an array of {} cannot be written as .npy", at::toString(type));
}

}  // namespace

Tensor decode_npy(const Bytes& file) {
  const std::string_view data = file.data;
  if (!data.starts_with(kMagic) || data.size() < 10) fail("{}: no .npy file", file.name);
  const int version = data[6];
  if (version < 1 || version > 3) {
    fail("{}: .npy of version {}, expected 1 to 3", file.name, version);
  }
  const size_t begin = version == 1 ? 10 : 12;
  uint32_t size = 0;
  if (data.size() >= begin) std::memcpy(&size, data.data() + 8, begin - 8);
  if (data.size() < begin || data.size() - begin < size) {
    fail("{}: the header of this .npy is cut short", file.name);
  }
  const Header header = HeaderReader(file.name, data.substr(begin, size)).read();
  const std::optional<int64_t> bytes = num_bytes(header.shape, header.dtype);
  const size_t there = data.size() - begin - size;
  if (!bytes || static_cast<size_t>(*bytes) != there) {
    fail("{}: {} bytes of data, expected those of {} of {}; cut short?", file.name, there,
         to_string(header.shape), at::toString(header.dtype));
  }
  std::vector<int64_t> sizes = header.shape;
  if (header.fortran_order) std::reverse(sizes.begin(), sizes.end());
  const Tensor array =
      view_tensor(slice(file, begin + size, there), sizes, header.dtype, file.name);
  if (!header.fortran_order) return array;
  std::vector<int64_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  return array.permute(order);
}

Tensor read_npy(const std::filesystem::path& path) { return decode_npy(map_file(path)); }

TensorMap decode_npz(const Bytes& file) {
  const Zip zip(file, kMaxExpansion);
  TensorMap arrays;
  for (const auto& [entry, where] : zip.entries()) {
    if (!entry.ends_with(kEnding)) {
      fail("{}: has '{}', expected arrays, whose names end in .npy", file.name, printable(entry));
    }
    Bytes bytes = zip.read(entry);
    const std::string name = entry.substr(0, entry.size() - kEnding.size());
    bytes.name = fmt::format("{}: array '{}'", file.name, printable(name));
    arrays[name] = decode_npy(bytes);
  }
  return arrays;
}

TensorMap read_npz(const std::filesystem::path& path) { return decode_npz(map_file(path)); }

std::string encode_npy(const Tensor& tensor) {
  const Tensor plain = tensor.detach().cpu().contiguous();
  std::string shape;
  for (const int64_t size : plain.sizes()) shape += fmt::format("{}, ", size);
  const std::string_view descr = descr_of(plain.scalar_type());
  const bool one_byte = at::elementSize(plain.scalar_type()) == 1;
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   one_byte ? '|' : '<', descr, shape);
  const size_t before = kMagic.size() + 4;
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string file =
      std::string(kMagic) + '\1' + '\0' + number(static_cast<uint16_t>(header.size())) + header;
  return file.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
}

std::string encode_npz(const NamedTensors& tensors) {
  std::string bytes, directory;
  for (const auto& [array, tensor] : tensors) {
    const std::string name = array + std::string(kEnding);
    const std::string data = encode_npy(tensor);
    if (bytes.size() + data.size() > 0xf0000000) {
      fail("an .npz of over 3.75 GiB cannot be written; take .safetensors");
    }
    const auto size = static_cast<uint32_t>(data.size());
    const auto at = static_cast<uint32_t>(bytes.size());
    // Version 2.0, no flags, stored, 1 January 1980; then the sizes.
    const std::string common = number<uint16_t>(20) + number<uint16_t>(0) + number<uint16_t>(0) +
                               number<uint16_t>(0) + number<uint16_t>(0x21) +
                               number(static_cast<uint32_t>(crc32_z(
                                   0, reinterpret_cast<const Bytef*>(data.data()), data.size()))) +
                               number(size) + number(size) +
                               number(static_cast<uint16_t>(name.size()));
    bytes += "PK\3\4" + common + number<uint16_t>(0) + name + data;
    directory +=
        "PK\1\2" + number<uint16_t>(20) + common + std::string(12, '\0') + number(at) + name;
  }
  const auto count = static_cast<uint16_t>(tensors.size());
  const std::string end = std::string("PK\5\6") + std::string(4, '\0') + number(count) +
                          number(count) + number(static_cast<uint32_t>(directory.size())) +
                          number(static_cast<uint32_t>(bytes.size())) + number<uint16_t>(0);
  return bytes + directory + end;
}

}  // namespace perceiver
