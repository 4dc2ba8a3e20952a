#include "perceiver/zoo/io_file.h"

#include "perceiver/core/error.h"
#include "perceiver/weights/safetensors.h"

namespace perceiver {

constexpr std::string_view kInput = "input.", kOutput = "output.";

IoArrays read_io_file(const std::filesystem::path& path) {
  IoArrays arrays;
  for (const auto& [name, tensor] : read_safetensors(path).tensors) {
    if (name.starts_with(kInput)) {
      arrays.inputs[name.substr(kInput.size())] = tensor;
    } else if (name.starts_with(kOutput)) {
      arrays.outputs[name.substr(kOutput.size())] = tensor;
    } else {
      fail("{}: tensor '{}' must be named '{}…' or '{}…'", path.string(), printable(name), kInput,
           kOutput);
    }
  }
  return arrays;
}

void write_outputs(const std::filesystem::path& path, const TensorMap& outputs) {
  NamedTensors named;
  for (const auto& [name, tensor] : outputs) {
    named.emplace_back(std::string(kOutput) + name, tensor.cpu().contiguous());
  }
  write_safetensors(path, named);
}

}  // namespace perceiver
