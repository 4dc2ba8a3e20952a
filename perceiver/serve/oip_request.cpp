#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "perceiver/core/error.h"
#include "perceiver/core/json_text.h"
#include "perceiver/core/number.h"
#include "perceiver/serve/oip.h"
#include "perceiver/serve/oip_json.h"

namespace perceiver {
namespace {

using nlohmann::json;

constexpr size_t kMostAxes = 16;
constexpr int64_t kMostElements = int64_t{1} << 40;

// What has a key, or null where it is not there, or null.
const json* value_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

void check_keys(const json& object, const std::string& what, const std::set<std::string>& known) {
  if (!object.is_object()) fail("{} is no object", what);
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) fail("{} has an unknown key '{}'", what, key);
  }
}

std::string text_of(const json& object, const std::string& what, const char* key) {
  const json* value = value_of(object, key);
  if (value == nullptr) fail("{} has no '{}'", what, key);
  if (!value->is_string()) fail("{}: '{}' is no text", what, key);
  return value->get<std::string>();
}

const json& parameters_of(const json& object, const std::string& what) {
  static const json none = json::object();
  const json* value = value_of(object, "parameters");
  if (value == nullptr) return none;
  if (!value->is_object()) fail("{}: 'parameters' is no object", what);
  return *value;
}

bool truth_of(const json& parameters, const std::string& what, const char* key, bool otherwise) {
  const json* value = value_of(parameters, key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail("{}: '{}' is neither true nor false", what, key);
  return value->get<bool>();
}

const json& list_of(const json& request, const char* key) {
  static const json none = json::array();
  const json* value = value_of(request, key);
  if (value == nullptr) return none;
  if (!value->is_array()) fail("'{}' is no list", key);
  if (value->size() > kMostOipTensors)
    fail("the request has more than {} {}", kMostOipTensors, key);
  return *value;
}

std::vector<int64_t> shape_of(const json& tensor, const std::string& what, int64_t& count) {
  const json* sizes = value_of(tensor, "shape");
  if (sizes == nullptr || !sizes->is_array()) fail("{} has no 'shape', a list of sizes", what);
  if (sizes->size() > kMostAxes) fail("{}: 'shape' has more than {} sizes", what, kMostAxes);
  std::vector<int64_t> shape;
  count = 1;
  for (const json& size : *sizes) {
    const int64_t n = size.is_number_integer() ? size.get<int64_t>() : 0;
    if (n < 1 || n > kMostElements / count) {
      fail("{}: 'shape' has a size of {}, or too many elements", what, json_text(size));
    }
    count *= n;
    shape.push_back(n);
  }
  return shape;
}

// Elements of kBytes, each behind its length.
int64_t count_texts(std::string_view bytes, const std::string& what) {
  int64_t count = 0;
  for (; !bytes.empty(); ++count) {
    uint32_t length = 0;
    if (bytes.size() >= 4) std::memcpy(&length, bytes.data(), 4);
    if (bytes.size() < 4 || length > bytes.size() - 4) fail("{}: BYTES are cut short", what);
    bytes.remove_prefix(4 + size_t{length});
  }
  return count;
}

void check_size(const OipTensor& tensor, int64_t count, const std::string& what) {
  const int64_t each = oip_element_bytes(tensor.type);
  const auto size = static_cast<int64_t>(tensor.bytes.size());
  if (each == 0) {
    const int64_t texts = count_texts(tensor.bytes, what);
    if (texts != count) fail("{}: its shape has {} elements, it has {}", what, count, texts);
  } else if (count > size / each || count * each != size) {
    fail("{}: its shape has {} elements of {} bytes, it has {} bytes", what, count, each, size);
  }
}

void check_lists(const OipData& data, const OipTensor& tensor, int64_t count,
                 const std::string& what) {
  if (data.count != count) {
    fail("{}: its shape has {} elements, 'data' has {}", what, count, data.count);
  }
  if (data.lists.size() > 1 && data.lists != tensor.shape) {
    fail("{}: the lists of 'data' are of shape [{}], not [{}]", what, fmt::join(data.lists, ", "),
         fmt::join(tensor.shape, ", "));
  }
}

// Takes the next of the bytes that stand behind the JSON.
std::string take_bytes(const json& size, std::string_view& behind, const std::string& what) {
  if (!size.is_number_integer() || size.get<int64_t>() < 0) {
    fail("{}: 'binary_data_size' is no number of bytes", what);
  }
  const auto wanted = size.get<uint64_t>();
  if (wanted > behind.size()) {
    fail("{}: 'binary_data_size' is {}, behind the JSON there are {} bytes more", what, wanted,
         behind.size());
  }
  std::string bytes(behind.substr(0, wanted));
  behind.remove_prefix(wanted);
  return bytes;
}

OipTensor input_of(const json& tensor, OipData& data, const std::string& place,
                   std::string_view& behind) {
  check_keys(tensor, place, {"name", "shape", "datatype", "parameters", "data"});
  OipTensor input{.name = text_of(tensor, place, "name")};
  const std::string what = "input '" + input.name + "'";
  input.type = oip_type(text_of(tensor, what, "datatype"));
  int64_t count = 0;
  input.shape = shape_of(tensor, what, count);
  const json* size = value_of(parameters_of(tensor, what), "binary_data_size");
  if (data.given == (size != nullptr)) {
    fail("{}: expected either 'data' or the parameter 'binary_data_size'", what);
  }
  if (data.given) {
    check_lists(data, input, count, what);
    input.bytes = std::move(data.bytes);
  } else {
    input.bytes = take_bytes(*size, behind, what);
  }
  check_size(input, count, what);
  return input;
}

OipRequest::Output output_of(const json& output, const std::string& place, bool binary) {
  check_keys(output, place, {"name", "parameters"});
  const json& parameters = parameters_of(output, place);
  if (value_of(parameters, "classification") != nullptr) {
    fail("{}: 'classification' is not known here; POST /classify names classes", place);
  }
  return {.name = text_of(output, place, "name"),
          .binary = truth_of(parameters, place, "binary_data", binary)};
}

// How long the JSON is: a header says so where bytes stand behind it.
size_t json_size(const HttpRequest& request) {
  const std::string& header = request.header("inference-header-content-length");
  if (header.empty()) return request.body.size();
  const auto size = number_in<size_t>(header);
  if (!size || *size > request.body.size()) {
    fail("Inference-Header-Content-Length is '{}', the body has {} bytes", header,
         request.body.size());
  }
  return *size;
}

}  // namespace

OipRequest parse_oip(const HttpRequest& request) {
  const size_t size = json_size(request);
  auto [content, data] = read_oip_json(std::string_view(request.body).substr(0, size));
  std::string_view behind = std::string_view(request.body).substr(size);
  check_keys(content, "the request", {"id", "parameters", "inputs", "outputs"});
  OipRequest parsed;
  if (value_of(content, "id") != nullptr) parsed.id = text_of(content, "the request", "id");
  parsed.binary_output =
      truth_of(parameters_of(content, "the request"), "the request", "binary_data_output", false);
  for (const json& tensor : list_of(content, "inputs")) {
    const size_t i = parsed.inputs.size();
    const std::string place = fmt::format("input {}", i);
    if (!tensor.is_object()) fail("{} is no object", place);
    OipTensor input = input_of(tensor, data.at(i), place, behind);
    if (std::ranges::count(parsed.inputs, input.name, &OipTensor::name) > 0) {
      fail("two inputs are called '{}'", input.name);
    }
    parsed.inputs.push_back(std::move(input));
  }
  if (parsed.inputs.empty()) fail("the request has no 'inputs'");
  if (!behind.empty()) fail("behind the last input's bytes there are {} more", behind.size());
  for (const json& output : list_of(content, "outputs")) {
    const std::string place = fmt::format("output {}", parsed.outputs.size());
    parsed.outputs.push_back(output_of(output, place, parsed.binary_output));
  }
  return parsed;
}

}  // namespace perceiver
