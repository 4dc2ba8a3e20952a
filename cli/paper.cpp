#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/format.h"
#include "perceiver/core/file.h"
#include "perceiver/core/json_text.h"
#include "perceiver/tasks/ledger.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const PaperFigures& f) {
  return {{"params", or_null(f.params)},
          {"flops", or_null(f.flops)},
          {"inputs", or_null(f.inputs)},
          {"latents", or_null(f.latents)},
          {"outputs", or_null(f.outputs)}};
}

std::string_view verdict(const LedgerEntry& entry) { return entry.match ? "match" : "explained"; }

void print_json(const std::vector<LedgerEntry>& ledger) {
  Json rows = Json::array();
  for (const LedgerEntry& entry : ledger) {
    rows.push_back({{"name", entry.row.name},
                    {"where", entry.row.where},
                    {"config", entry.row.config},
                    {"paper", to_json(entry.row.paper)},
                    {"built", to_json(entry.built)},
                    {"verdict", verdict(entry)},
                    {"note", entry.row.note}});
  }
  fmt::print("{}\n", json_text(rows, 2));
}

std::string cell(const std::optional<double>& value) { return value ? amount(*value) : "-"; }
std::string cell(const std::optional<std::vector<int64_t>>& a) {
  return a ? array((*a)[0], (*a)[1]) : "-";
}

// Two lines a model: what the paper says, and under it what the modules give.
void print_tables(const std::vector<LedgerEntry>& ledger) {
  std::vector<std::vector<std::string>> rows = {
      {"", "", "params", "FLOPs", "inputs", "latents", "outputs", "verdict"}};
  size_t matches = 0;
  for (const LedgerEntry& entry : ledger) {
    const auto line = [](std::string name, std::string source, const PaperFigures& f,
                         std::string_view end) -> std::vector<std::string> {
      return {std::move(name), std::move(source), cell(f.params),  cell(f.flops),
              cell(f.inputs),  cell(f.latents),   cell(f.outputs), std::string(end)};
    };
    rows.push_back(line(entry.row.name, "paper", entry.row.paper, ""));
    rows.push_back(line("  " + entry.row.where, "built", entry.built, verdict(entry)));
    matches += entry.match;
  }
  fmt::print("{}\n", table(rows));
  for (const LedgerEntry& entry : ledger) {
    if (!entry.row.note.empty()) {
      fmt::print("{} ({})\n{}", entry.row.name, verdict(entry), wrapped(entry.row.note, 4));
    }
  }
  fmt::print("\n{} rows: {} match within 0.5 %, {} are explained above\n", ledger.size(), matches,
             ledger.size() - matches);
}

// Whether the configs have the hyper-parameters that the paper gives.
void print_recipes(const std::filesystem::path& configs) {
  std::set<std::string> seen;
  std::vector<std::string> differences;
  size_t settings = 0;
  for (const PaperRecipe& recipe : paper_recipes(configs)) {
    seen.insert(recipe.configs.begin(), recipe.configs.end());
    settings += recipe.configs.size() * recipe.settings.size();
    for (std::string& line : recipe_differences(recipe, configs)) {
      differences.push_back(std::move(line));
    }
  }
  fmt::print("{} hyper-parameters in {} configs: {} are the paper's\n", settings, seen.size(),
             settings - differences.size());
  for (const std::string& line : differences) fmt::print("    not in {}\n", line);
}

}  // namespace

void add_paper_command(CLI::App& app) {
  CLI::App* command = add_command(
      app, "paper",
      "Show the paper's tables beside what this program's models have: parameters, FLOPs, arrays",
      "  perceiver paper\n  perceiver paper --json | jq '.[] | select(.verdict == \"explained\")'");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON array, a row each");
  command->callback([json] {
    const std::vector<LedgerEntry> ledger = paper_ledger(shipped("configs"));
    if (*json) return print_json(ledger);
    print_tables(ledger);
    print_recipes(shipped("configs"));
  });
}

}  // namespace perceiver
