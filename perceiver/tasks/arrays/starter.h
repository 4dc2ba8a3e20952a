// A beginning for a task of one's own: generated data of a kind, and a config that trains on them.
#pragma once

#include <string>
#include <vector>

#include "perceiver/core/file.h"

namespace perceiver {

struct StarterKind {
  std::string name, meaning;
};
std::vector<StarterKind> starter_kinds();

// config.toml, data and a README of a kind. The same seed gives the same data; fails for a kind
// there is not.
std::vector<File> starter_files(const std::string& kind, int64_t seed);

}  // namespace perceiver
