#include "perceiver/weights/arrays.h"

#include <ATen/core/Tensor.h>

#include "perceiver/core/error.h"
#include "perceiver/weights/npy.h"
#include "perceiver/weights/safetensors.h"

namespace perceiver {

namespace fs = std::filesystem;

static TensorMap decode(const Bytes& file) {
  const fs::path path = file.name;
  if (path.extension() == ".npz") return decode_npz(file);
  if (path.extension() == ".safetensors") return decode_safetensors(file).tensors;
  if (path.extension() == ".npy") return {{path.stem().string(), decode_npy(file)}};
  fail("{}: expected a name that ends in .npz, .safetensors or .npy, or a folder of .npy",
       file.name);
}

bool holds_arrays(const fs::path& path) {
  std::error_code error;
  const fs::path ending = path.extension();
  return ending == ".npz" || ending == ".safetensors" || ending == ".npy" ||
         fs::is_directory(path, error);
}

TensorMap read_arrays(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!holds_arrays(path)) return decode({path.string(), {}, nullptr});
    return decode(map_file(path));
  }
  TensorMap arrays;
  for (const fs::path& file : sorted_entries(path)) {
    if (file.extension() == ".npy") arrays[file.stem().string()] = read_npy(file);
  }
  if (arrays.empty()) fail("{}: there are no .npy files in this folder", path.string());
  return arrays;
}

TensorMap decode_arrays(File file) { return decode(own_bytes(std::move(file))); }

void write_arrays(const fs::path& path, const NamedTensors& tensors) {
  if (path.extension() == ".npz") return write_file(path, encode_npz(tensors));
  if (path.extension() != ".safetensors") {
    fail("-o {}: expected a name that ends in .npz or .safetensors", path.string());
  }
  NamedTensors plain;
  for (const auto& [name, tensor] : tensors) plain.emplace_back(name, tensor.cpu().contiguous());
  write_safetensors(path, plain);
}

}  // namespace perceiver
