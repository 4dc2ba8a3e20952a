// A JSON object read key by key, nothing in it believed before it was looked at.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "perceiver/core/count.h"
#include "perceiver/core/error.h"
#include "perceiver/core/file.h"

namespace perceiver {

// What JSON counts, where it is a number that a config may have.
template <typename Json>
std::optional<int64_t> count_of(const Json& value) {
  if (!value.is_number_integer() || value < 1 || value > kLargestCount) return {};
  return value.template get<int64_t>();
}

// The file's name is in every complaint.
class Keys {
 public:
  using Json = nlohmann::ordered_json;

  explicit Keys(const File& file) : name_(file.name) {
    // Nesting is what could hurt a parser that calls itself; no config goes deep.
    constexpr int kDeepest = 32;
    const auto no_deeper = [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kDeepest) fail("{}: nested deeper than {} levels", name_, kDeepest);
      return true;
    };
    try {
      json_ = Json::parse(file.bytes, no_deeper);
    } catch (const Json::exception& e) {
      fail("{}: not JSON: {}", name_, e.what());
    }
    if (!json_.is_object()) fail("{}: must be a JSON object", name_);
  }

  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

  int64_t integer(const char* key, int64_t otherwise) const {
    if (!has(key)) return otherwise;
    return positive(json_[key], key);
  }

  std::optional<int64_t> optional_integer(const char* key) const {
    if (!has(key)) return {};
    return positive(json_[key], key);
  }

  std::vector<int64_t> integers(const char* key, std::vector<int64_t> otherwise) const {
    if (!has(key)) return otherwise;
    const Json& list = json_[key];
    if (!list.is_array() || list.size() != otherwise.size()) {
      fail("{}: '{}' must be a list of {} integers", name_, key, otherwise.size());
    }
    std::vector<int64_t> values;
    for (const Json& item : list) values.push_back(positive(item, key));
    return values;
  }

  double number(const char* key, double otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_number()) fail("{}: '{}' must be a number", name_, key);
    return json_[key].get<double>();
  }

  bool boolean(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean()) fail("{}: '{}' must be true or false", name_, key);
    return json_[key].get<bool>();
  }

  std::string text(const char* key, const std::string& otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_string()) fail("{}: '{}' must be a string", name_, key);
    return json_[key].get<std::string>();
  }

  const Json& json() const { return json_; }
  const std::string& name() const { return name_; }

 private:
  int64_t positive(const Json& value, const char* key) const {
    if (const std::optional<int64_t> count = count_of(value)) return *count;
    fail("{}: '{}' must be an integer from 1 to {}, got {}", name_, key, kLargestCount,
         value.dump().substr(0, 40));
  }

  std::string name_;
  Json json_;
};

}  // namespace perceiver
