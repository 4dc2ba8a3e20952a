// JSON as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace perceiver {

// In one line, or indented. A user's text or a file's name may be no UTF-8, which JSON cannot hold:
// what is none is replaced.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace perceiver
