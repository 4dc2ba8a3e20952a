#include "perceiver/serve/oip.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "perceiver/core/error.h"
#include "perceiver/core/json_text.h"

namespace perceiver {
namespace {

using nlohmann::json;

struct TypeEntry {
  OipType type;
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<TypeEntry, 14> kTypes = {{{OipType::kBool, "BOOL", 1},
                                               {OipType::kUint8, "UINT8", 1},
                                               {OipType::kUint16, "UINT16", 2},
                                               {OipType::kUint32, "UINT32", 4},
                                               {OipType::kUint64, "UINT64", 8},
                                               {OipType::kInt8, "INT8", 1},
                                               {OipType::kInt16, "INT16", 2},
                                               {OipType::kInt32, "INT32", 4},
                                               {OipType::kInt64, "INT64", 8},
                                               {OipType::kFp16, "FP16", 2},
                                               {OipType::kFp32, "FP32", 4},
                                               {OipType::kFp64, "FP64", 8},
                                               {OipType::kBf16, "BF16", 2},
                                               {OipType::kBytes, "BYTES", 0}}};

const TypeEntry& entry_of(OipType type) { return kTypes[static_cast<size_t>(type)]; }

template <typename T>
T element(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <typename T>
void write_numbers(const OipTensor& tensor, fmt::memory_buffer& text) {
  for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(T)) {
    const T value = element<T>(tensor.bytes, at);
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        fail(
            "output '{}' has numbers that are none or infinite, which JSON cannot hold; ask for "
            "it with binary_data",
            tensor.name);
      }
    }
    // The shortest text that reads as the same number.
    fmt::format_to(std::back_inserter(text), "{}{}", at == 0 ? "" : ",", value);
  }
}

void write_texts(const OipTensor& tensor, fmt::memory_buffer& text) {
  for (size_t at = 0; at < tensor.bytes.size();) {
    const auto length = element<uint32_t>(tensor.bytes, at);
    const std::string one = json_text(json(tensor.bytes.substr(at + 4, length)));
    fmt::format_to(std::back_inserter(text), "{}{}", at == 0 ? "" : ",", one);
    at += 4 + length;
  }
}

void write_truths(const OipTensor& tensor, fmt::memory_buffer& text) {
  for (size_t at = 0; at < tensor.bytes.size(); ++at) {
    fmt::format_to(std::back_inserter(text), "{}{}", at == 0 ? "" : ",", tensor.bytes[at] != 0);
  }
}

void write_data(const OipTensor& tensor, fmt::memory_buffer& text) {
  switch (tensor.type) {
    case OipType::kBool:
      return write_truths(tensor, text);
    case OipType::kUint8:
      return write_numbers<uint8_t>(tensor, text);
    case OipType::kUint16:
      return write_numbers<uint16_t>(tensor, text);
    case OipType::kUint32:
      return write_numbers<uint32_t>(tensor, text);
    case OipType::kUint64:
      return write_numbers<uint64_t>(tensor, text);
    case OipType::kInt8:
      return write_numbers<int8_t>(tensor, text);
    case OipType::kInt16:
      return write_numbers<int16_t>(tensor, text);
    case OipType::kInt32:
      return write_numbers<int32_t>(tensor, text);
    case OipType::kInt64:
      return write_numbers<int64_t>(tensor, text);
    case OipType::kFp32:
      return write_numbers<float>(tensor, text);
    case OipType::kFp64:
      return write_numbers<double>(tensor, text);
    case OipType::kBytes:
      return write_texts(tensor, text);
    case OipType::kFp16:
    case OipType::kBf16:
      fail("output '{}' is {}, which JSON cannot hold; ask for it with binary_data", tensor.name,
           oip_name(tensor.type));
  }
}

bool is_binary(const OipRequest& request, const std::string& name) {
  const auto asked = std::ranges::find(request.outputs, name, &OipRequest::Output::name);
  return asked == request.outputs.end() ? request.binary_output : asked->binary;
}

json arrays_of(const std::vector<OipModel::Array>& arrays) {
  json list = json::array();
  for (const OipModel::Array& array : arrays) {
    list.push_back(
        {{"name", array.name}, {"datatype", oip_name(array.type)}, {"shape", array.shape}});
    if (array.optional) list.back()["parameters"] = {{"optional", true}};
  }
  return list;
}

}  // namespace

std::string_view oip_name(OipType type) { return entry_of(type).name; }
int64_t oip_element_bytes(OipType type) { return entry_of(type).bytes; }

OipType oip_type(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &TypeEntry::name);
  if (found != kTypes.end()) return found->type;
  std::string names;
  for (const TypeEntry& entry : kTypes) names.append(names.empty() ? "" : ", ").append(entry.name);
  fail("datatype '{}' is none; there are {}", name, names);
}

HttpResponse oip_response(const OipRequest& request, std::string_view model,
                          std::span<const OipTensor> outputs) {
  fmt::memory_buffer text;
  const auto add = [&text](std::string_view part) { text.append(part); };
  std::string behind;
  bool has_binary = false;
  add("{" + fmt::format("\"model_name\":{},\"model_version\":\"1\"", json_text(json(model))));
  if (!request.id.empty()) add(",\"id\":" + json_text(json(request.id)));
  add(",\"outputs\":[");
  for (const OipTensor& output : outputs) {
    if (&output != &outputs.front()) add(",");
    add(fmt::format("{{\"name\":{},\"datatype\":\"{}\",\"shape\":[{}],",
                    json_text(json(output.name)), oip_name(output.type),
                    fmt::join(output.shape, ",")));
    if (is_binary(request, output.name)) {
      add(fmt::format("\"parameters\":{{\"binary_data_size\":{}}}}}", output.bytes.size()));
      behind += output.bytes;
      has_binary = true;
    } else {
      add("\"data\":[");
      write_data(output, text);
      add("]}");
    }
  }
  add("]}");
  if (!has_binary) return {.body = fmt::to_string(text) + "\n"};
  return {.content_type = "application/octet-stream",
          .body = fmt::to_string(text) + behind,
          .headers = {{"Inference-Header-Content-Length", std::to_string(text.size())}}};
}

json oip_metadata(const OipModel& model) {
  return {{"name", model.name},
          {"versions", {"1"}},
          {"platform", "perceiver"},
          {"inputs", arrays_of(model.inputs)},
          {"outputs", arrays_of(model.outputs)}};
}

json oip_server(std::string_view version) {
  return {{"name", "perceiver"}, {"version", version}, {"extensions", {"binary_tensor_data"}}};
}

}  // namespace perceiver
