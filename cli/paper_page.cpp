#include "cli/paper_page.h"

#include <fmt/format.h>

#include "cli/format.h"
#include "perceiver/core/markup.h"
#include "perceiver/core/text.h"

namespace perceiver {
namespace {

std::string cell(const std::optional<double>& value) { return value ? amount(*value) : "-"; }
std::string cell(const std::optional<std::vector<int64_t>>& a) {
  return a ? array((*a)[0], (*a)[1]) : "-";
}

constexpr const char* kHead = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Perceiver IO: the paper beside this program</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto }
th, td { padding: 0.2em 0.8em; text-align: left; border-bottom: 1px solid #8884; white-space: nowrap }
figure { margin: 1em 0; overflow-x: auto }
pre { overflow-x: auto }
</style>
)";

}  // namespace

TableCells ledger_table(const std::vector<LedgerEntry>& ledger) {
  TableCells rows = {{"", "", "params", "FLOPs", "inputs", "latents", "outputs", "verdict"}};
  for (const LedgerEntry& entry : ledger) {
    const auto line = [&](std::string name, std::string source, const PaperFigures& f,
                          std::string end) {
      rows.push_back({std::move(name), std::move(source), cell(f.params), cell(f.flops),
                      cell(f.inputs), cell(f.latents), cell(f.outputs), std::move(end)});
    };
    line(entry.row.name, "paper", entry.row.paper, "");
    line("  " + entry.row.where, "built", entry.built, entry.match ? "match" : "explained");
  }
  return rows;
}

TableCells reached_table(const std::vector<LedgerEntry>& ledger) {
  TableCells rows = {{"", "measure", "paper", "here"}};
  for (const LedgerEntry& entry : ledger) {
    for (const ReachedFigure& figure : entry.row.reached) {
      std::string here = figure.here.empty() ? "not run" : figure.here;
      if (!figure.source.empty()) here += " (" + figure.source + ")";
      rows.push_back({entry.row.name, figure.measure, figure.paper, std::move(here)});
    }
  }
  return rows;
}

TableCells recipe_table(const std::filesystem::path& configs) {
  TableCells rows = {{"config", "setting", "where", "the config's"}};
  for (const PaperRecipe& recipe : paper_recipes(configs)) {
    for (const std::string& config : recipe.configs) {
      for (const std::string& setting : recipe.settings) {
        const PaperRecipe one{.where = recipe.where, .configs = {config}, .settings = {setting}};
        const bool same = recipe_differences(one, configs).empty();
        rows.push_back({config, setting, recipe.where, same ? "the same" : "differs"});
      }
    }
  }
  return rows;
}

std::string paper_html(const std::vector<LedgerEntry>& ledger, const std::filesystem::path& configs,
                       const std::vector<ClaimReport>& claims) {
  std::string html = kHead;
  html += "<h1>Perceiver IO: the paper beside this program</h1>\n";
  html +=
      "<p>Jaegle et al., ICLR 2022. First the paper's claims, tried with small models; then its "
      "models, built at full size without training: parameters, operations and arrays; then what "
      "trained models reached, and the recipes.</p>\n";
  html += results_html(claims);
  html += "<h2>Sizes</h2>\n" + html_table(ledger_table(ledger));
  for (const LedgerEntry& entry : ledger) {
    if (entry.row.note.empty()) continue;
    html += fmt::format("<p><b>{}</b>: {}</p>\n", escaped(entry.row.name), escaped(entry.row.note));
  }
  html += "<h2>Figures of trained models</h2>\n" + html_table(reached_table(ledger));
  html += "<h2>Recipes</h2>\n" + html_table(recipe_table(configs));
  return html + "</html>\n";
}

}  // namespace perceiver
