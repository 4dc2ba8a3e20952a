#include "perceiver/train/measured_batches.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "perceiver/weights/safetensors.h"

namespace perceiver {

void MeasuredBatches::add(const Example& batch, const TensorMap& state) {
  for (const auto& [name, array] : batch) {
    arrays_.emplace_back(fmt::format("{}.{}", count_, name), array.cpu());
  }
  for (const auto& [name, array] : state) {
    arrays_.emplace_back(fmt::format("{}.measure.{}", count_, name), array);
  }
  ++count_;
}

void MeasuredBatches::write(const std::filesystem::path& path) const {
  write_safetensors(path, arrays_);
}

}  // namespace perceiver
