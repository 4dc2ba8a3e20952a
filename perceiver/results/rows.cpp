#include "perceiver/results/rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "perceiver/core/file.h"

namespace perceiver {
namespace {

ResultRow parsed(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line);
  ResultRow row;
  json.at("arm").get_to(row.arm);
  json.at("seed").get_to(row.seed);
  json.at("value").get_to(row.value);
  json.at("seconds").get_to(row.seconds);
  json.at("command").get_to(row.command);
  json.at("commit").get_to(row.commit);
  json.at("machine").get_to(row.machine);
  json.at("date").get_to(row.date);
  return row;
}

void summarise(ArmResult& result, double seconds) {
  const auto n = static_cast<double>(result.values.size());
  if (n == 0) return;
  for (const double v : result.values) result.mean += v / n;
  double squares = 0.0;
  for (const double v : result.values) squares += (v - result.mean) * (v - result.mean);
  if (n > 1) result.deviation = std::sqrt(squares / (n - 1));
  result.minutes = seconds / 60.0 / n;
}

}  // namespace

std::vector<ResultRow> read_rows(const std::filesystem::path& file) {
  std::vector<ResultRow> rows;
  if (!std::filesystem::exists(file)) return rows;
  std::istringstream lines(read_file(file).bytes);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      rows.push_back(parsed(line));
    } catch (const nlohmann::json::exception&) {
      fail(
          "{}:{}: no row; expected {{\"arm\", \"seed\", \"value\", \"seconds\", \"command\", "
          "\"commit\", \"machine\", \"date\"}} as experiments/run.py writes them",
          file.string(), number);
    }
  }
  return rows;
}

std::vector<ArmResult> arm_results(const Claim& claim, const std::vector<ResultRow>& rows) {
  std::map<std::string, std::map<int64_t, const ResultRow*>> by_arm;
  for (const ResultRow& row : rows) {
    if (std::ranges::find(claim.arm, row.arm, &ClaimArm::name) == claim.arm.end()) {
      fail("{}: a row of '{}', which is no arm of this claim", claim.name, row.arm);
    }
    if (std::ranges::find(claim.seeds, row.seed) == claim.seeds.end()) {
      fail("{}: a row of seed {}, which the claim does not list", claim.name, row.seed);
    }
    if (!by_arm[row.arm].emplace(row.seed, &row).second) {
      fail("{}: two rows of '{}', seed {}", claim.name, row.arm, row.seed);
    }
  }
  std::vector<ArmResult> results;
  for (const ClaimArm& arm : claim.arm) {
    ArmResult& result = results.emplace_back(ArmResult{.arm = &arm, .values = {}});
    double seconds = 0.0;
    for (const auto& [seed, row] : by_arm[arm.name]) {
      result.values.push_back(row->value * claim.measure.times);
      seconds += row->seconds;
    }
    summarise(result, seconds);
  }
  return results;
}

}  // namespace perceiver
