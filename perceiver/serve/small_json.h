// JSON of requests, which may be meant to take more memory than there is.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace perceiver {

// Refuses, with 400, what is no JSON, nests deeper than 16 or has more than 100,000 values.
nlohmann::json small_json(std::string_view text);

}  // namespace perceiver
