// The paper's tables and claims as one page of HTML.
#pragma once

#include <string>
#include <vector>

#include "perceiver/results/report.h"
#include "perceiver/tasks/ledger.h"

namespace perceiver {

// Two lines a model: what the paper says, and under it what the modules give.
TableCells ledger_table(const std::vector<LedgerEntry>& ledger);

// A line for each figure that a trained model of the paper reached, "not run" where none was here.
TableCells reached_table(const std::vector<LedgerEntry>& ledger);

// Every hyper-parameter that the paper gives, and what the configs say: "yes", or how they differ.
TableCells recipe_table(const std::filesystem::path& configs);

std::string paper_html(const std::vector<LedgerEntry>& ledger, const std::filesystem::path& configs,
                       const std::vector<ClaimReport>& claims);

}  // namespace perceiver
