// The JSON header of a safetensors file, before any number in it is believed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace perceiver {

struct SafetensorsEntry {
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<uint64_t> offsets;  // begin and end, from the end of the header
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

// Checks the form: no key twice, none missing, none unknown, and every value of its type.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file_name);

}  // namespace perceiver
