#include "perceiver/tasks/latents_file.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <charconv>

#include "perceiver/core/error.h"

namespace perceiver {
namespace {

constexpr const char* kFormat = "perceiver latents";
constexpr const char* kVersion = "1";
constexpr std::string_view kGeometry = "geometry.";

std::vector<int64_t> read_numbers(std::string_view text, const std::string& what) {
  std::vector<int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (next < end && *next != ',')) {
      fail("{}: expected numbers with commas between, got '{}'", what, text);
    }
    numbers.push_back(number);
    at = next < end ? next + 1 : end;
  }
  return numbers;
}

// A file that is none of safetensors is none of latents either: what is wrong with it as such would
// tell a user little.
template <typename Read>
Safetensors read_as_latents(const std::string& name, const Read& read) {
  const std::string place = name + ": ";
  try {
    return read();
  } catch (const Error& e) {
    const std::string_view reason = e.what();
    fail("{}not latents ({}); make them with 'perceiver encode', see 'perceiver encode -h'", place,
         reason.substr(reason.starts_with(place) ? place.size() : 0));
  }
}

Metadata metadata_of(const LatentsFile& file) {
  Metadata metadata = {{"format", kFormat},
                       {"version", kVersion},
                       {"task", file.task},
                       {"model", file.model},
                       {"fingerprint", file.fingerprint},
                       {"input", file.input}};
  for (const auto& [name, numbers] : file.geometry) {
    metadata[std::string(kGeometry) + name] = fmt::format("{}", fmt::join(numbers, ","));
  }
  return metadata;
}

NamedTensors tensors_of(const LatentsFile& file) {
  NamedTensors tensors = {{"latents", file.latents().contiguous()}};
  for (const auto& [name, array] : file.arrays) {
    if (name != "latents") tensors.emplace_back(name, array.contiguous());
  }
  return tensors;
}

LatentsFile latents_in(const Safetensors& read, const std::string& file_name) {
  const auto entry = [&](const std::string& name) -> std::string {
    const auto found = read.metadata.find(name);
    if (found == read.metadata.end()) fail("{}: its metadata have no '{}'", file_name, name);
    return found->second;
  };
  if (!read.metadata.contains("format") || entry("format") != kFormat) {
    fail("{}: no file of latents; make one with 'perceiver encode'", file_name);
  }
  if (entry("version") != kVersion) {
    fail("{}: version {} of the format, this program reads {}", file_name, entry("version"),
         kVersion);
  }
  LatentsFile file{.task = entry("task"),
                   .model = entry("model"),
                   .fingerprint = entry("fingerprint"),
                   .input = entry("input"),
                   .arrays = read.tensors,
                   .geometry = {},
                   .name = file_name};
  for (const auto& [name, text] : read.metadata) {
    if (!name.starts_with(kGeometry)) continue;
    file.geometry[name.substr(kGeometry.size())] =
        read_numbers(text, fmt::format("{}: {}", file_name, name));
  }
  const Tensor latents = required_array(file, "latents", at::kFloat, {kAny, kAny, kAny});
  if (latents.numel() == 0) fail("{}: its latents are empty", file_name);
  return file;
}

}  // namespace

void write_latents(const std::filesystem::path& path, const LatentsFile& file) {
  write_safetensors(path, tensors_of(file), metadata_of(file));
}

std::string encode_latents(const LatentsFile& file) {
  return encode_safetensors(tensors_of(file), metadata_of(file));
}

LatentsFile read_latents(const std::filesystem::path& path) {
  const auto read = [&] { return read_safetensors(path); };
  if (!std::filesystem::is_regular_file(path)) return latents_in(read(), path.string());
  return latents_in(read_as_latents(path.string(), read), path.string());
}

LatentsFile decode_latents(File file) {
  const std::string name = file.name;
  const auto read = [&] { return decode_safetensors(std::move(file)); };
  return latents_in(read_as_latents(name, read), name);
}

const Tensor& required_array(const LatentsFile& file, const std::string& name, at::ScalarType dtype,
                             std::initializer_list<int64_t> sizes) {
  const auto found = file.arrays.find(name);
  if (found == file.arrays.end()) fail("{}: has no array '{}'", file.name, name);
  if (found->second.scalar_type() != dtype) {
    fail("{}: '{}' is of {}, expected {}", file.name, name,
         safetensors_dtype(found->second.scalar_type()), safetensors_dtype(dtype));
  }
  try {
    check_shape(found->second, sizes, name);
  } catch (const Error& e) {
    fail("{}: {}", file.name, e.what());
  }
  return found->second;
}

}  // namespace perceiver
