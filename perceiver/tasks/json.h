// Results as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "perceiver/tasks/model.h"

namespace perceiver {

// In one line, or indented. A user's text or a file's name may be no UTF-8, which JSON cannot hold:
// what is none is replaced.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// A result with what must be known of the model behind it: "origin" is "random", "shipped" …
inline nlohmann::ordered_json with_origin(nlohmann::ordered_json result, const Model& model) {
  result["origin"] = to_word(model.origin.weights);
  return result;
}

}  // namespace perceiver
