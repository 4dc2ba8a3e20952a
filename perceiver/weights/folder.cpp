#include "perceiver/weights/folder.h"

#include "perceiver/core/error.h"
#include "perceiver/weights/bytes.h"
#include "perceiver/weights/safetensors.h"
#include "perceiver/weights/sharded.h"
#include "perceiver/weights/torch_file.h"

namespace perceiver {

namespace fs = std::filesystem;

fs::path find_folder_weights(const fs::path& folder) {
  std::string looked_for;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    // Not exists(): that throws for a link to itself.
    if (fs::exists(fs::symlink_status(folder / name))) return folder / name;
    looked_for += fmt::format("{}{}", looked_for.empty() ? "" : ", ", name);
  }
  if (!fs::is_directory(folder)) fail("{}: no such folder", folder.string());
  fail("{}: no weights; looked for {}", folder.string(), looked_for);
}

TensorMap read_folder_weights(const fs::path& folder) {
  const fs::path path = find_folder_weights(folder);
  if (path.extension() == ".json") return read_sharded(path);
  if (path.extension() == ".bin") return read_torch_file(path);
  return read_safetensors(path).tensors;
}

File read_model_config(const fs::path& path) {
  constexpr size_t kLargest = size_t{64} << 20;  // a config may name a million classes
  const Bytes bytes = map_file(path);
  if (bytes.data.size() > kLargest) {
    fail("{}: {} bytes are too many for a config", bytes.name, bytes.data.size());
  }
  return {bytes.name, std::string(bytes.data)};
}

}  // namespace perceiver
