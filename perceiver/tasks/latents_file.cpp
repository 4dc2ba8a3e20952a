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
Safetensors read_as_latents(const std::filesystem::path& path) {
  const std::string place = path.string() + ": ";
  if (!std::filesystem::is_regular_file(path)) return read_safetensors(path);
  try {
    return read_safetensors(path);
  } catch (const Error& e) {
    const std::string_view reason = e.what();
    fail("{}not latents ({}); make them with 'perceiver encode', see 'perceiver encode -h'", place,
         reason.substr(reason.starts_with(place) ? place.size() : 0));
  }
}

}  // namespace

void write_latents(const std::filesystem::path& path, const LatentsFile& file) {
  Metadata metadata = {{"format", kFormat},
                       {"version", kVersion},
                       {"task", file.task},
                       {"model", file.model},
                       {"fingerprint", file.fingerprint},
                       {"input", file.input}};
  for (const auto& [name, numbers] : file.geometry) {
    metadata[std::string(kGeometry) + name] = fmt::format("{}", fmt::join(numbers, ","));
  }
  NamedTensors tensors = {{"latents", file.latents().contiguous()}};
  for (const auto& [name, array] : file.arrays) {
    if (name != "latents") tensors.emplace_back(name, array.contiguous());
  }
  write_safetensors(path, tensors, metadata);
}

LatentsFile read_latents(const std::filesystem::path& path) {
  const Safetensors read = read_as_latents(path);
  const auto entry = [&](const std::string& name) -> std::string {
    const auto found = read.metadata.find(name);
    if (found == read.metadata.end()) fail("{}: its metadata have no '{}'", path.string(), name);
    return found->second;
  };
  if (!read.metadata.contains("format") || entry("format") != kFormat) {
    fail("{}: no file of latents; make one with 'perceiver encode'", path.string());
  }
  if (entry("version") != kVersion) {
    fail("{}: version {} of the format, this program reads {}", path.string(), entry("version"),
         kVersion);
  }
  LatentsFile file{.task = entry("task"),
                   .model = entry("model"),
                   .fingerprint = entry("fingerprint"),
                   .input = entry("input"),
                   .arrays = read.tensors,
                   .geometry = {},
                   .name = path.string()};
  for (const auto& [name, text] : read.metadata) {
    if (!name.starts_with(kGeometry)) continue;
    file.geometry[name.substr(kGeometry.size())] =
        read_numbers(text, fmt::format("{}: {}", path.string(), name));
  }
  const Tensor latents = required_array(file, "latents", at::kFloat, {kAny, kAny, kAny});
  if (latents.numel() == 0) fail("{}: its latents are empty", path.string());
  return file;
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
