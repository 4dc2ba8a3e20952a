// The bytes of a file, and tensors that look at them without copying.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perceiver/core/file.h"
#include "perceiver/core/tensor.h"

namespace perceiver {

// A stretch of a file. Copies share the bytes, which live as long as the last owner: a tensor
// made by view_tensor() is one.
struct Bytes {
  Bytes(std::string name, std::string_view data, std::shared_ptr<const void> owner)
      : name(std::move(name)), data(data), owner(std::move(owner)) {}

  std::string name;  // of the file, for messages
  std::string_view data;
  std::shared_ptr<const void> owner;
};

// Maps the file into memory, privately: pages are read when they are touched, and a tensor that
// is changed in place gets its own copy of the page; the file never changes. Truncating the file
// while it is in use is fatal to the process, as with every mapping; writers here replace instead.
Bytes map_file(const std::filesystem::path& path);

// Takes the bytes of a file that is in memory already.
Bytes own_bytes(File file);

// `size` bytes from `offset`, which the caller has checked.
Bytes slice(const Bytes& bytes, uint64_t offset, uint64_t size);

// Tensors of more dimensions than ATen's own limit are refused.
constexpr size_t kMaxDimensions = 64;

// How many bytes a tensor takes; nothing when that does not fit, or a size is negative.
std::optional<int64_t> num_bytes(at::IntArrayRef sizes, at::ScalarType dtype);

// A tensor of its own from exactly num_bytes() bytes. `what` names it to the reader. Fails for
// booleans other than 0 and 1.
Tensor copy_tensor(std::string_view bytes, at::IntArrayRef sizes, at::ScalarType dtype,
                   std::string_view what);

// The same without copying, unless the bytes are not aligned for the dtype.
Tensor view_tensor(const Bytes& bytes, at::IntArrayRef sizes, at::ScalarType dtype,
                   std::string_view what);

// A name from a file as it may stand in a message: at most 100 characters, no control characters.
std::string printable(std::string_view name);

}  // namespace perceiver
