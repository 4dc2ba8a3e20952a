#include "perceiver/data/json_line.h"

#include <nlohmann/json.hpp>

#include "perceiver/core/error.h"

namespace perceiver {

JsonLine::JsonLine(std::string_view line, std::string_view expected) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) fail("no JSON object, expected {}", expected);
  for (const auto& [key, value] : json.items()) {
    using Kind = Value::Kind;
    const bool word = value.is_number() || value.is_boolean();
    const Kind kind = value.is_string() ? Kind::kString : word ? Kind::kWord : Kind::kOther;
    values_[key] = {kind, value.is_string() ? value.get<std::string>() : value.dump()};
  }
}

const JsonLine::Value& JsonLine::value(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) fail("no \"{}\" in this object", key);
  return found->second;
}

std::string JsonLine::text(const std::string& key) const {
  const Value& found = value(key);
  if (found.kind != Value::Kind::kString) fail("\"{}\" is no string", key);
  return found.text;
}

std::string JsonLine::word(const std::string& key) const {
  const Value& found = value(key);
  if (found.kind == Value::Kind::kOther) {
    fail("\"{}\" is {}, expected a string or a number", key, found.text);
  }
  return found.text;
}

}  // namespace perceiver
