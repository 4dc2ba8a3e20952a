// States of made-up games, whose types follow from owners and places, for tests of training.
#pragma once

#include <fmt/format.h>

#include <filesystem>

#include "perceiver/core/file.h"
#include "perceiver/core/rng.h"

namespace perceiver {

inline std::filesystem::path write_states(const std::filesystem::path& folder, int64_t games) {
  std::filesystem::create_directories(folder);
  Rng rng(7);
  std::string text;
  for (int64_t i = 0; i < 4 * games; ++i) {
    std::string entities;
    for (int64_t e = 0; e < 12; ++e) {
      const int64_t owner = e % 3, x = rng.integer(20), y = rng.integer(20);
      const char* type = owner == 0 ? "Mineral" : x < 10 ? "SCV" : "Marine";
      entities += fmt::format("{}[\"{}\", {}, {}, {}, {}, 1]", e > 0 ? ", " : "", type, owner, x, y,
                              10 * e);
    }
    text += fmt::format(
        R"({{"replay": "game {}", "players": [{{"pid": 1, "team": 1, "result": "Win"}}, )"
        R"({{"pid": 2, "team": 2, "result": "Loss"}}], "entities": [{}]}})",
        i / 4, entities);
    text += "\n";
  }
  write_file(folder / "states.jsonl", text);
  return folder / "states.jsonl";
}

}  // namespace perceiver
