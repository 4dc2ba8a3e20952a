// Results as JSON.
#pragma once

#include "perceiver/core/json_text.h"
#include "perceiver/tasks/model.h"

namespace perceiver {

// A result with what must be known of the model behind it: "origin" is "random", "shipped" …
inline nlohmann::ordered_json with_origin(nlohmann::ordered_json result, const Model& model) {
  result["origin"] = to_word(model.origin.weights);
  return result;
}

}  // namespace perceiver
