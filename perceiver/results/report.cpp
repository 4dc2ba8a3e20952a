#include "perceiver/results/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "perceiver/core/markup.h"

namespace perceiver {
namespace {

std::string number(const Claim& claim, double value) {
  return fmt::format("{:.{}f}", value, claim.measure.decimals);
}

std::string measure_text(const Claim& claim) {
  return fmt::format("{} ({} is better)", claim.measure.name,
                     claim.measure.lower_is_better ? "lower" : "higher");
}

// "2 of 6 runs are there", or nothing where all are.
std::string missing_text(const ClaimReport& report) {
  const size_t all = report.claim.arm.size() * report.claim.seeds.size();
  if (report.rows.empty()) return "Not run yet.";
  if (report.rows.size() == all) return "";
  return fmt::format("{} of {} runs are there.", report.rows.size(), all);
}

std::string command_of(const Claim& claim) {
  return fmt::format("experiments/run.py {} --data DATA", claim.name);
}

std::string markdown_table(const TableCells& cells) {
  std::string text = fmt::format("| {} |\n|", fmt::join(cells[0], " | "));
  for (size_t i = 0; i < cells[0].size(); ++i) text += "---|";
  for (size_t i = 1; i < cells.size(); ++i) {
    text += fmt::format("\n| {} |", fmt::join(cells[i], " | "));
  }
  return text + "\n";
}

// Paragraphs of a section around its table, in order; empty ones are left out.
struct Section {
  std::vector<std::string> before, after;
};

Section section_of(const ClaimReport& report) {
  const Claim& claim = report.claim;
  return {.before = {fmt::format("{}: {}", claim.where, claim.paper), "Here: " + claim.experiment},
          .after = {missing_text(report), claim.shows, origin_of_rows(report)}};
}

std::string markdown(const ClaimReport& report) {
  const Claim& claim = report.claim;
  const Section section = section_of(report);
  std::string text = fmt::format("\n## {}. {}\n", claim.number, claim.title);
  for (const std::string& paragraph : section.before) text += "\n" + paragraph + "\n";
  text += "\n" + markdown_table(result_table(report));
  if (!report.rows.empty()) {
    text +=
        fmt::format("\n![{0}: a dot for each seed](results/{1}.svg)\n", claim.title, claim.name);
  }
  for (const std::string& paragraph : section.after) {
    if (!paragraph.empty()) text += "\n" + paragraph + "\n";
  }
  return text + fmt::format("\n    {}\n", command_of(claim));
}

constexpr const char* kPreface =
    R"(# The paper's claims, run small

Each comparison of the paper (Perceiver IO, ICLR 2022) that a small model can try, with the paper's figures beside
those measured here. Models, data and trainings are small, so the figures themselves are not the paper's; what may be
compared is the order of the models and the size of the gaps beside the spread over seeds. The sentence under each
plot says what it shows, also when it shows the opposite. The spread is the standard deviation over seeds.

This page is drawn by `make results` from the rows in `experiments/rows/`, one for each run with its command, commit,
machine and date; `experiments/run.py CLAIM --data DATA` adds those that are missing, and goes on where it was stopped.
Time and memory over inputs, outputs and latents, beside a Transformer's, are in
[bench/results/sweeps.md](../bench/results/sweeps.md). `perceiver paper` has the paper's sizes beside ours, and
`perceiver paper --html FILE` all of it as one page.
)";

}  // namespace

std::vector<ClaimReport> read_reports(const std::filesystem::path& experiments) {
  std::vector<ClaimReport> reports;
  for (Claim& claim : read_claims(experiments)) {
    std::vector<ResultRow> rows = read_rows(experiments / "rows" / (claim.name + ".jsonl"));
    reports.push_back({std::move(claim), std::move(rows)});
  }
  return reports;
}

TableCells result_table(const ClaimReport& report) {
  const Claim& claim = report.claim;
  TableCells cells = {{"model", "paper", measure_text(claim), "spread", "seeds", "minutes a run"}};
  for (const ArmResult& result : arm_results(claim, report.rows)) {
    const std::string paper = result.arm->paper.empty() ? "-" : result.arm->paper;
    if (result.values.empty()) {
      cells.push_back({result.arm->name, paper, "not run", "", "", ""});
      continue;
    }
    cells.push_back({result.arm->name, paper, number(claim, result.mean),
                     result.values.size() > 1 ? "± " + number(claim, result.deviation) : "",
                     std::to_string(result.values.size()), fmt::format("{:.1f}", result.minutes)});
  }
  return cells;
}

DotPlot result_plot(const ClaimReport& report) {
  DotPlot plot{.title = report.claim.title, .axis = measure_text(report.claim), .lines = {}};
  for (const ArmResult& result : arm_results(report.claim, report.rows)) {
    plot.lines.push_back({result.arm->name, result.values});
  }
  return plot;
}

std::string claims_overview(const std::vector<ClaimReport>& reports) {
  std::string text = "The paper's claims, run small (docs/results.md, or --html FILE):\n";
  for (const ClaimReport& report : reports) {
    const Claim& claim = report.claim;
    const std::string missing = missing_text(report);
    text += fmt::format("  {:2}. {} ({}){}\n", claim.number, claim.title, claim.where,
                        missing.empty() ? "" : ": " + missing);
  }
  return text;
}

std::string origin_of_rows(const ClaimReport& report) {
  if (report.rows.empty()) return "";
  std::set<std::string> commits, machines, dates;
  for (const ResultRow& row : report.rows) {
    commits.insert(row.commit);
    machines.insert(row.machine);
    dates.insert(row.date);
  }
  const std::string when = *dates.begin() == *dates.rbegin()
                               ? *dates.begin()
                               : *dates.begin() + " to " + *dates.rbegin();
  return fmt::format("Measured on {}, {}, commit {}.", fmt::join(machines, " and "), when,
                     fmt::join(commits, ", "));
}

std::map<std::string, std::string> results_files(const std::vector<ClaimReport>& reports) {
  std::map<std::string, std::string> files;
  std::string text = kPreface;
  for (const ClaimReport& report : reports) {
    text += markdown(report);
    if (report.rows.empty()) continue;
    files[fmt::format("results/{}.svg", report.claim.name)] =
        to_svg(result_plot(report), static_cast<int>(report.claim.measure.decimals));
  }
  files["results.md"] = text;
  return files;
}

std::string html_table(const TableCells& cells) {
  std::string html = "<table>\n";
  for (size_t i = 0; i < cells.size(); ++i) {
    const char* tag = i == 0 ? "th" : "td";
    html += "<tr>";
    for (const std::string& cell : cells[i]) {
      html += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string results_html(const std::vector<ClaimReport>& reports) {
  std::string html;
  for (const ClaimReport& report : reports) {
    const Claim& claim = report.claim;
    const Section section = section_of(report);
    html += fmt::format("<section>\n<h2>{}. {}</h2>\n", claim.number, escaped(claim.title));
    for (const std::string& text : section.before) html += "<p>" + escaped(text) + "</p>\n";
    html += html_table(result_table(report));
    if (!report.rows.empty()) {
      html += "<figure>\n" + to_svg(result_plot(report), static_cast<int>(claim.measure.decimals)) +
              "</figure>\n";
    }
    for (const std::string& text : section.after) {
      if (!text.empty()) html += "<p>" + escaped(text) + "</p>\n";
    }
    html += fmt::format("<pre>{}</pre>\n</section>\n", escaped(command_of(claim)));
  }
  return html;
}

}  // namespace perceiver
