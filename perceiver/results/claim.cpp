#include "perceiver/results/claim.h"

#include <algorithm>
#include <set>

#include "perceiver/core/file.h"

namespace perceiver {
namespace {

void check(const Claim& claim, const std::string& file) {
  std::set<std::string> names;
  for (const ClaimArm& arm : claim.arm) {
    if (arm.config.empty()) fail("{}: arm '{}' names no config", file, arm.name);
    if (!names.insert(arm.name).second) {
      fail("{}: two arms are called '{}', expected a name for each", file, arm.name);
    }
  }
  if (names.size() < 2) {
    fail("{}: {} [[arm]], expected two or more to compare", file, names.size());
  }
  if (claim.measure.key.empty()) fail("{}: no measure.key, expected a figure of 'eval'", file);
}

}  // namespace

std::vector<Claim> read_claims(const std::filesystem::path& experiments) {
  std::vector<Claim> claims;
  for (const std::filesystem::path& path : sorted_entries(experiments)) {
    if (path.extension() != ".toml") continue;
    Claim& claim = claims.emplace_back(read_config<Claim>(read_file(path)));
    claim.name = path.stem().string();
    check(claim, path.string());
  }
  std::ranges::stable_sort(claims, {}, &Claim::number);
  return claims;
}

}  // namespace perceiver
