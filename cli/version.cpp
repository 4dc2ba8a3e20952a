#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/build_facts.h"
#include "cli/commands.h"

namespace perceiver {

void add_version_command(CLI::App& app) {
  CLI::App* command =
      add_command(app, "version", "Print the version, and what the program was built of",
                  "  perceiver version");
  command->callback([] { fmt::print("{}", version_text()); });
}

}  // namespace perceiver
