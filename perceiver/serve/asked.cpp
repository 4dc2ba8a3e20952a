#include "perceiver/serve/asked.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "perceiver/core/base64.h"
#include "perceiver/core/names.h"
#include "perceiver/core/number.h"
#include "perceiver/http/multipart.h"
#include "perceiver/serve/openapi.h"
#include "perceiver/serve/refused.h"
#include "perceiver/serve/small_json.h"

namespace perceiver {
namespace {

using Json = nlohmann::json;

const Json& table() {
  static const Json read = Json::parse(routes_json());
  return read;
}

const Json& about(const std::string& route) { return table().at("routes").at(route); }

std::vector<std::string> strings_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::vector<std::string>()
                               : found->get<std::vector<std::string>>();
}

std::string_view kind_of_type(std::string_view type) { return type.substr(0, type.find('/')); }

// A file's name is for messages, and its ending may tell what it is.
std::string tame(std::string_view name) {
  const size_t slash = name.find_last_of("/\\");
  if (slash != name.npos) name.remove_prefix(slash + 1);
  constexpr size_t kLongest = 100;
  if (name.size() > kLongest) name.remove_prefix(name.size() - kLongest);
  std::string tamed;
  for (const char c : name) tamed.push_back(static_cast<unsigned char>(c) < 32 ? '_' : c);
  return tamed.empty() ? "the file" : tamed;
}

std::string name_by_type(const std::string& type) {
  if (type == "audio/wav" || type == "audio/x-wav") return "body.wav";
  if (kind_of_type(type) == "audio") return "body.mp3";
  if (kind_of_type(type) == "video") return "body.mp4";
  if (kind_of_type(type) == "image") return "body.png";
  return type == "text/plain" ? "body.txt" : "the body";
}

bool allows(const Json& schema, const char* type) {
  const auto found = schema.find("type");
  if (found == schema.end()) return false;
  if (found->is_array()) return std::ranges::count(*found, Json(type)) > 0;
  return *found == type;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A text of a form or a query as the kind of value that the schema names.
Json value_of_text(const std::string& name, const std::string& text, const Json& schema) {
  if (allows(schema, "array")) {
    Json list = Json::array();
    for (const std::string& part : split(text, name == "pixels" ? ';' : ',')) {
      const bool numbers = schema.at("items").value("type", "") == "integer";
      list.push_back(numbers ? value_of_text(name, part, schema.at("items")) : Json(part));
    }
    return list;
  }
  if (allows(schema, "boolean")) {
    if (text == "true" || text == "1" || text == "") return true;
    if (text == "false" || text == "0") return false;
    refuse(400, "{}: expected true or false, got '{}'", name, text);
  }
  if (allows(schema, "string")) return text;
  if (allows(schema, "integer")) {
    if (const auto number = number_in<int64_t>(text)) return *number;
    refuse(400, "{}: expected a whole number, got '{}'", name, text);
  }
  if (const auto number = number_in<double>(text)) return *number;
  refuse(400, "{}: expected a number, got '{}'", name, text);
}

void check_number(const std::string& name, const Json& value, const Json& schema) {
  const auto number = value.get<double>();
  const bool good = number >= schema.value("minimum", -1e300) &&
                    number <= schema.value("maximum", 1e300) &&
                    (!schema.contains("exclusiveMinimum") ||
                     number > schema.at("exclusiveMinimum").get<double>());
  if (good) return;
  std::string expected;
  if (schema.contains("minimum")) expected = fmt::format("{} or more", schema["minimum"].dump());
  if (schema.contains("exclusiveMinimum")) expected = "more than 0";
  if (schema.contains("maximum")) {
    expected = fmt::format("{} to {}", schema.value("minimum", 0), schema["maximum"].dump());
  }
  refuse(400, "{}: expected {}, got {}", name, expected, value.dump());
}

// "x,y" of a list in JSON is taken as [x, y] is.
bool is_pixel(const Json& value) {
  if (value.is_string()) return true;
  return value.is_array() && value.size() == 2 && value[0].is_number_integer() &&
         value[1].is_number_integer();
}

void check_value(const std::string& name, const Json& value, const Json& schema) {
  if (allows(schema, "array") && value.is_array()) {
    for (const Json& item : value) {
      if (name != "pixels") {
        check_value(name, item, schema.at("items"));
      } else if (!is_pixel(item)) {
        refuse(400, "pixels: expected [x, y] of each, got {}", item.dump());
      }
    }
    return;
  }
  if (allows(schema, "string") && value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() < schema.value("minLength", size_t{0})) refuse(400, "{}: is empty", name);
    const std::vector<std::string> words = strings_of(schema, "enum");
    if (!words.empty() && std::ranges::find(words, text) == words.end()) {
      refuse(400, "{}: expected {}, got '{}'", name, fmt::join(words, " or "), text);
    }
    return;
  }
  if (allows(schema, "boolean") && value.is_boolean()) return;
  const bool is_number = (allows(schema, "integer") && value.is_number_integer()) ||
                         (allows(schema, "number") && value.is_number());
  if (is_number) return check_number(name, value, schema);
  const Json& type = schema.at("type");
  refuse(400, "{}: expected {}, got {}", name,
         type.is_array() ? fmt::format("{}", fmt::join(strings_of(schema, "type"), " or "))
                         : type.get<std::string>(),
         value.type_name());
}

}  // namespace

Asked::Asked(const HttpRequest& request, const std::string& route, const Samples& samples)
    : route_(route) {
  const std::string type = request.content_type();
  if (type == "application/json") {
    take_json(request);
  } else if (type == "multipart/form-data") {
    take_form(request);
  } else if (!request.body.empty()) {
    take_file(request, type);
  }
  for (const auto& [name, value] : request.query) {
    if (!options_.contains(name)) take_text(name, value);
  }
  collect(samples);
}

const Json& Asked::schema_of(const std::string& name) const {
  const std::vector<std::string> known = strings_of(about(route_), "options");
  if (std::ranges::find(known, name) == known.end()) {
    refuse(400, "unknown option '{}'{}; {} takes {}", name, did_you_mean(name, known), route_,
           fmt::join(known, ", "));
  }
  return table().at("options").at(name);
}

void Asked::take(const std::string& name, const Json& value) {
  check_value(name, value, schema_of(name));
  options_[name] = value;
}

void Asked::take_text(const std::string& name, const std::string& value) {
  take(name, value_of_text(name, value, schema_of(name)));
}

void Asked::take_json(const HttpRequest& request) {
  const Json body = small_json(request.body);
  if (!body.is_object()) refuse(400, "the body: expected an object, got {}", body.type_name());
  for (const auto& [name, value] : body.items()) {
    if (name != "file" && name != "files") {
      take(name, value);
      continue;
    }
    check_value(name, value, schema_of(name));
    const Json list = name == "file" ? Json::array({value}) : value;
    for (const Json& one : list) {
      const auto bytes = base64_bytes(one.get_ref<const std::string&>());
      if (!bytes) refuse(400, "{}: is no base64", name);
      add_file(list.size() == 1 ? "the file" : fmt::format("file {}", files_.size() + 1), *bytes);
    }
  }
}

void Asked::take_form(const HttpRequest& request) {
  std::vector<FormPart> parts;
  try {
    parts = parse_multipart(request.body, request.header("content-type"));
  } catch (const Error& e) {
    refuse(400, "{}", e.what());
  }
  for (const FormPart& part : parts) {
    if (part.file_name.empty()) {
      take_text(part.name, std::string(part.bytes));
    } else {
      add_file(tame(part.file_name), std::string(part.bytes));
    }
  }
}

void Asked::take_file(const HttpRequest& request, const std::string& type) {
  const std::vector<std::string> reads = strings_of(about(route_), "reads");
  const bool taken = std::ranges::any_of(
      reads, [&](const std::string& one) { return kind_of_type(one) == kind_of_type(type); });
  if (!taken && type != "application/octet-stream") {
    refuse(415, "the body is of type '{}', {} takes application/json, multipart/form-data{}{}",
           type, route_, reads.empty() ? "" : ", ", fmt::join(reads, ", "));
  }
  add_file(name_by_type(type), request.body);
}

void Asked::add_file(std::string name, std::string bytes) {
  if (!takes_files()) refuse(400, "{} takes no file", route_);
  if (bytes.empty()) refuse(400, "{}: is empty", name);
  constexpr size_t kMost = 16;
  if (files_.size() == kMost) refuse(400, "more than {} files", kMost);
  files_.push_back({std::move(name), std::move(bytes)});
}

bool Asked::takes_files() const {
  const std::vector<std::string> options = strings_of(about(route_), "options");
  return std::ranges::any_of(options, [](const std::string& one) {
    return one == "file" || one == "files" || one == "text";
  });
}

void Asked::collect(const Samples& samples) {
  int kinds = files_.empty() ? 0 : 1;
  for (const std::string& name : split(text("sample"), ',')) {
    const Sample* sample = samples.find(name);
    if (sample == nullptr) refuse(400, "sample: there is no '{}'; see GET /samples", name);
    add_file(name, read_file(sample->path).bytes);
  }
  if (has("sample")) ++kinds;
  if (has("text")) {
    ++kinds;
    has_text_ = true;
    add_file("the text", text("text"));
  }
  if (kinds > 1) refuse(400, "give files, a sample or a text, one of them alone");
  if (kinds == 0 && takes_files()) refuse(400, "{} needs something to read; see /docs", route_);
  if (has("pair")) add_file("the text", text("pair"));
}

std::string Asked::text(const std::string& name) const {
  const auto found = options_.find(name);
  if (found == options_.end()) return "";
  return found->second.is_string() ? found->second.get<std::string>() : found->second.dump();
}

int64_t Asked::number(const std::string& name, int64_t otherwise) const {
  const auto found = options_.find(name);
  return found == options_.end() ? otherwise : found->second.get<int64_t>();
}

double Asked::real(const std::string& name, double otherwise) const {
  const auto found = options_.find(name);
  return found == options_.end() ? otherwise : found->second.get<double>();
}

bool Asked::flag(const std::string& name) const {
  const auto found = options_.find(name);
  return found != options_.end() && found->second.get<bool>();
}

std::vector<std::string> Asked::list(const std::string& name) const {
  std::vector<std::string> list;
  const auto found = options_.find(name);
  if (found == options_.end()) return list;
  for (const Json& item : found->second) {
    if (item.is_string()) {
      list.push_back(item.get<std::string>());
    } else if (item.is_array()) {
      list.push_back(item[0].dump() + "," + item[1].dump());
    } else {
      list.push_back(item.dump());
    }
  }
  return list;
}

}  // namespace perceiver
