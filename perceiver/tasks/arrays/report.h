// What a model of one's own arrays sees and is asked, as tables for people and for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "perceiver/tasks/arrays/layout.h"

namespace perceiver {

std::string arrays_report(const ArraysConfig& config);
nlohmann::ordered_json arrays_json(const ArraysConfig& config);

}  // namespace perceiver
