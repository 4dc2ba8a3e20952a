#include "python/library/sources.h"

#include <ATen/ATen.h>

#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "perceiver/core/error.h"
#include "perceiver/tasks/audioset/model.h"
#include "perceiver/tasks/given_inputs.h"
#include "perceiver/tasks/multimodal/clip.h"

namespace perceiver {
namespace {

std::string bytes_of(const Tensor& x) {
  const Tensor whole = x.contiguous();
  return {static_cast<const char*>(whole.const_data_ptr()), whole.nbytes()};
}

// Nothing is lost and nothing is packed: the pixels as they are behind a line of text.
File picture_file(const std::string& name, const Tensor& pixels) {
  if (pixels.dim() != 3 || pixels.size(0) != 3) {
    fail("{} has shape {}, expected [3, *, *] or [*, *, 3]", name, to_string(pixels.sizes()));
  }
  const std::string header = fmt::format("P6 {} {} 255\n", pixels.size(2), pixels.size(1));
  return {name, header + bytes_of(pixels.permute({1, 2, 0}))};
}

// A WAV of one channel of floats.
File sound_file(const std::string& name, const Tensor& samples, int64_t rate) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint32_t kFormatBytes = 16, kFloats = 3, kWidth = 4;
  const std::string values = bytes_of(samples.to(at::kFloat));
  std::string bytes;
  const auto put = [&](size_t value, size_t width) {
    const auto word = static_cast<uint32_t>(value);
    bytes.append(reinterpret_cast<const char*>(&word), width);
  };
  bytes += "RIFF";
  put(values.size() + 36, 4);
  bytes += "WAVEfmt ";
  put(kFormatBytes, 4);
  put(kFloats, 2);
  put(1, 2);  // channel
  put(static_cast<size_t>(rate), 4);
  put(static_cast<size_t>(rate) * kWidth, 4);
  put(kWidth, 2);
  put(8 * kWidth, 2);
  bytes += "data";
  put(values.size(), 4);
  return {name, bytes + values};
}

}  // namespace

int64_t samples_per_second(const Model& model) {
  if (const auto* clips = model.settings->model<MultimodalConfig>()) {
    return clip_format(*clips).samples_per_second;
  }
  if (const auto* sounds = model.settings->model<AudioSetConfig>()) {
    return sounds->num_samples * kFramesPerSecond / sounds->num_frames;
  }
  fail("{}: models of the task {} hear nothing", model.source, task_name(model));
}

File file_of(const Source& source, const Model& model) {
  const auto& [name, array] = source;
  if (!array) return given_files(std::span(&name, 1), application_of(model).reads())[0];
  const Tensor values = array->detach().cpu();
  if (values.scalar_type() == at::kByte) return picture_file(name, values);
  if (at::isFloatingType(values.scalar_type()) && values.dim() == 1) {
    return sound_file(name, values, samples_per_second(model));
  }
  fail("{} is {} {}, expected a picture, uint8 [3, *, *] or [*, *, 3], or a sound, float [*]", name,
       at::toString(values.scalar_type()), to_string(values.sizes()));
}

std::vector<File> files_of(const std::vector<Source>& sources, const Model& model) {
  std::vector<File> files;
  for (const Source& source : sources) files.push_back(file_of(source, model));
  return files;
}

}  // namespace perceiver
