#include "perceiver/weights/bytes.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "perceiver/core/error.h"

namespace perceiver {

static_assert(std::endian::native == std::endian::little, "the formats here are little-endian");

namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

void check_bytes(std::string_view bytes, at::IntArrayRef sizes, at::ScalarType dtype,
                 std::string_view what) {
  TORCH_INTERNAL_ASSERT(num_bytes(sizes, dtype) == static_cast<int64_t>(bytes.size()));
  if (dtype != at::kBool) return;
  const size_t bad = bytes.find_first_not_of(std::string_view("\0\1", 2));
  if (bad == std::string_view::npos) return;
  fail("{}: element {} is {}, expected a boolean: 0 or 1", what, bad,
       static_cast<uint8_t>(bytes[bad]));
}

}  // namespace

Bytes map_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  // Without waiting: a pipe that nobody writes to would keep us for ever.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) fail("{}: cannot open: {}", name, std::strerror(errno));

  struct stat status;
  if (fstat(file.number, &status) != 0) fail("{}: cannot read: {}", name, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail("{}: is a folder, expected a file", name);
  if (!S_ISREG(status.st_mode)) fail("{}: is not a plain file", name);
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) return {name, {}, nullptr};

  void* start =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number,
           /*offset=*/0);
  if (start == MAP_FAILED) fail("{}: cannot map: {}", name, std::strerror(errno));
  std::shared_ptr<const void> owner(start, [start, size](const void*) { munmap(start, size); });
  return {name, {static_cast<const char*>(start), size}, std::move(owner)};
}

Bytes own_bytes(File file) {
  auto owner = std::make_shared<std::string>(std::move(file.bytes));
  const std::string_view data = *owner;
  return {std::move(file.name), data, std::move(owner)};
}

Bytes slice(const Bytes& bytes, uint64_t offset, uint64_t size) {
  TORCH_INTERNAL_ASSERT(offset <= bytes.data.size() && size <= bytes.data.size() - offset);
  return {bytes.name, bytes.data.substr(offset, size), bytes.owner};
}

std::optional<int64_t> num_bytes(at::IntArrayRef sizes, at::ScalarType dtype) {
  int64_t bytes = static_cast<int64_t>(at::elementSize(dtype));
  bool overflow = false, empty = false;
  // All sizes are looked at: [0, 2^40, 2^40] has no bytes, and strides that overflow.
  for (const int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes);
  }
  if (overflow) return std::nullopt;
  return empty ? 0 : bytes;
}

Tensor copy_tensor(std::string_view bytes, at::IntArrayRef sizes, at::ScalarType dtype,
                   std::string_view what) {
  check_bytes(bytes, sizes, dtype, what);
  Tensor copy = at::empty(sizes, dtype);
  if (!bytes.empty()) std::memcpy(copy.mutable_data_ptr(), bytes.data(), bytes.size());
  return copy;
}

Tensor view_tensor(const Bytes& bytes, at::IntArrayRef sizes, at::ScalarType dtype,
                   std::string_view what) {
  // Owned strings and private mappings are ours to write to.
  void* start = const_cast<char*>(bytes.data.data());
  const bool aligned = reinterpret_cast<uintptr_t>(start) % at::elementSize(dtype) == 0;
  if (bytes.data.empty() || !aligned) return copy_tensor(bytes.data, sizes, dtype, what);
  check_bytes(bytes.data, sizes, dtype, what);
  return at::from_blob(
      start, sizes, [owner = bytes.owner](void*) {}, dtype);
}

std::string printable(std::string_view name) {
  constexpr size_t kMaxShown = 100;
  std::string shown;
  for (const char c : name) {
    if (shown.size() >= kMaxShown) return shown + "...";
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return shown;
}

}  // namespace perceiver
