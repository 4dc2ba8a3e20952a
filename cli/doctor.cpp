#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/build_facts.h"
#include "cli/commands.h"
#include "cli/findings.h"
#include "cli/format.h"
#include "cli/help.h"
#include "perceiver/core/error.h"
#include "perceiver/core/json_text.h"

namespace perceiver {
namespace {

using Json = nlohmann::ordered_json;

struct Part {
  const char* title;
  std::vector<Finding> findings;
};

void print_json(const std::vector<Part>& parts) {
  Json document = {{"version", PERCEIVER_VERSION}};
  for (const Part& part : parts) {
    Json rows = Json::array();
    for (const Finding& finding : part.findings) {
      rows.push_back(
          {{"name", finding.name}, {"value", finding.value}, {"advice", finding.advice}});
    }
    document[part.title] = rows;
  }
  fmt::print("{}\n", json_text(document, 2));
}

void print_text(const std::vector<Part>& parts) {
  std::vector<Fact> lines;
  std::string advice;
  fmt::print("perceiver {}\n", PERCEIVER_VERSION);
  for (const Part& part : parts) {
    for (const Finding& finding : part.findings) {
      lines.push_back({finding.name, finding.value});
      if (!finding.advice.empty()) advice += wrapped(finding.advice, 2, terminal_width());
    }
  }
  fmt::print("{}\n{}", lines_of_facts(lines),
             advice.empty() ? "Nothing is missing.\n" : "To do:\n" + advice);
}

void doctor(bool json) {
  const std::vector<Part> parts = {{"machine", machine_findings()},
                                   {"libraries", library_findings()},
                                   {"models", model_findings()}};
  json ? print_json(parts) : print_text(parts);
  for (const Part& part : parts) {
    for (const Finding& finding : part.findings) {
      if (finding.is_needed && !finding.advice.empty()) fail("{}", finding.advice);
    }
  }
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  CLI::App* command = add_command(
      app, "doctor", "Say what the program finds on this machine, what is missing and what to do",
      "  perceiver doctor\n"
      "  perceiver doctor --json");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON document");
  command->callback([json] { doctor(*json); });
}

}  // namespace perceiver
