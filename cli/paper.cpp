#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/paper_page.h"
#include "perceiver/core/file.h"
#include "perceiver/core/json_text.h"
#include "perceiver/core/output_place.h"
#include "perceiver/core/text.h"
#include "perceiver/tasks/ledger.h"

namespace perceiver {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct PaperArgs {
  bool json = false;
  std::string html, results;
};

template <typename T>
Json or_null(const std::optional<T>& v) {
  return v ? Json(*v) : Json();
}

Json to_json(const PaperFigures& f) {
  return {{"params", or_null(f.params)},
          {"flops", or_null(f.flops)},
          {"inputs", or_null(f.inputs)},
          {"latents", or_null(f.latents)},
          {"outputs", or_null(f.outputs)}};
}

Json to_json(const std::vector<ReachedFigure>& figures) {
  Json list = Json::array();
  for (const ReachedFigure& f : figures) {
    list.push_back({{"measure", f.measure},
                    {"paper", f.paper},
                    {"here", f.here.empty() ? Json() : Json(f.here)}});
  }
  return list;
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
                    {"reached", to_json(entry.row.reached)},
                    {"note", entry.row.note}});
  }
  fmt::print("{}\n", json_text(rows, 2));
}

void print_tables(const std::vector<LedgerEntry>& ledger) {
  size_t matches = 0;
  fmt::print("{}\n", table(ledger_table(ledger)));
  for (const LedgerEntry& entry : ledger) {
    matches += entry.match;
    if (!entry.row.note.empty()) {
      fmt::print("{} ({})\n{}", entry.row.name, verdict(entry), wrapped(entry.row.note, 4));
    }
  }
  fmt::print("\n{} rows: {} match within 0.5 %, {} are explained above\n\n", ledger.size(), matches,
             ledger.size() - matches);
  fmt::print("{}\n", table(reached_table(ledger)));
}

// Whether the configs have the hyper-parameters that the paper gives.
void print_recipes(const fs::path& configs) {
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

void write_results(const std::vector<ClaimReport>& claims, const fs::path& folder) {
  check_writable(folder);
  fs::create_directories(folder / "results");
  for (const auto& [name, text] : results_files(claims)) {
    write_file(folder / name, text);
    fmt::print("{}\n", (folder / name).string());
  }
}

void paper(const PaperArgs& args) {
  const std::vector<ClaimReport> claims = read_reports(shipped("experiments"));
  if (!args.results.empty()) return write_results(claims, args.results);
  if (!args.html.empty()) check_writable(args.html);
  const fs::path configs = shipped("configs");
  const std::vector<LedgerEntry> ledger = paper_ledger(configs);
  if (!args.html.empty()) {
    write_file(args.html, paper_html(ledger, configs, claims));
    fmt::print("{}\n", args.html);
    return;
  }
  if (args.json) return print_json(ledger);
  print_tables(ledger);
  print_recipes(configs);
  fmt::print("\n{}", claims_overview(claims));
}

}  // namespace

void add_paper_command(CLI::App& app) {
  CLI::App* command = add_command(
      app, "paper",
      "Show the paper's tables beside what this program's models have, and its claims run small",
      "  perceiver paper\n  perceiver paper --html paper.html\n"
      "  perceiver paper --json | jq '.[] | select(.verdict == \"explained\")'");
  auto args = std::make_shared<PaperArgs>();
  CLI::Option* json = command->add_flag("--json", args->json, "Print one JSON array, a row each");
  command
      ->add_option("--html", args->html,
                   "Write tables, recipes, claims and their plots as one page to this file")
      ->excludes(json);
  command
      ->add_option("--results", args->results,
                   "Draw results.md and the plots of the claims into this folder")
      ->excludes(json);
  command->callback([args] { paper(*args); });
}

}  // namespace perceiver
