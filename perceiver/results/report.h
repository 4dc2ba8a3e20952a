// The paper's claims beside what was measured: docs/results.md and its plots, and the same as HTML.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "perceiver/results/claim.h"
#include "perceiver/results/dot_plot.h"
#include "perceiver/results/rows.h"

namespace perceiver {

struct ClaimReport {
  Claim claim;
  std::vector<ResultRow> rows;
};

// Of experiments/: the claims, with the rows that are kept in its folder rows/.
std::vector<ClaimReport> read_reports(const std::filesystem::path& experiments);

using TableCells = std::vector<std::vector<std::string>>;  // the first row is the header

// A line for each arm: the paper's figure, the mean here, its spread over seeds, minutes.
TableCells result_table(const ClaimReport& report);
DotPlot result_plot(const ClaimReport& report);

// A line for each claim, and how many of its runs are there.
std::string claims_overview(const std::vector<ClaimReport>& reports);

// Where the rows come from: commands, commits, machines, dates.
std::string origin_of_rows(const ClaimReport& report);

// Files by their names in docs/: results.md and results/CLAIM.svg.
std::map<std::string, std::string> results_files(const std::vector<ClaimReport>& reports);

// A section of HTML for each claim, its plot within.
std::string results_html(const std::vector<ClaimReport>& reports);

std::string html_table(const TableCells& cells);

}  // namespace perceiver
