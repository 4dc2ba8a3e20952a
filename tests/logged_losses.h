// What a run's metrics.jsonl says.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "perceiver/core/file.h"

namespace perceiver {

// "train12" -> the loss of step 12; a step that stands there twice is an error.
inline std::map<std::string, double> logged_losses(const std::filesystem::path& run) {
  std::map<std::string, double> losses;
  std::istringstream text(read_file(run / "metrics.jsonl").bytes);
  for (std::string line; std::getline(text, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    const std::string step = json["kind"].get<std::string>() + json["step"].dump();
    EXPECT_FALSE(losses.contains(step)) << step;
    losses[step] = json["loss"];
  }
  return losses;
}

}  // namespace perceiver
