// What experiments/run.py measured: one line of JSON for each arm and seed of a claim.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "perceiver/results/claim.h"

namespace perceiver {

struct ResultRow {
  std::string arm;
  int64_t seed = 0;
  double value = 0.0;    // as `perceiver eval` gave it
  double seconds = 0.0;  // of the training that is measured and the one before it
  std::string command, commit, machine, date;
};

// Nothing where there is no file. A row that is none, or that lacks anything, is an error with the
// file and its line.
std::vector<ResultRow> read_rows(const std::filesystem::path& file);

// The figures of one arm, in the units of the claim's measure.
struct ArmResult {
  const ClaimArm* arm;
  std::vector<double> values;  // by seed
  double mean = 0.0;
  double deviation = 0.0;  // standard deviation over seeds; 0 for less than two
  double minutes = 0.0;    // a seed, on average
};

// Of every arm, in the claim's order. A row of an arm or a seed that the claim does not have, or a
// second one of the same, is an error.
std::vector<ArmResult> arm_results(const Claim& claim, const std::vector<ResultRow>& rows);

}  // namespace perceiver
