// One function a verb, each in a file of its own: arguments, the work, how they are named.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace perceiver {

void add_inspect_command(CLI::App& app);
void add_paper_command(CLI::App& app);

// A subcommand whose help starts with examples.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description,
                      const std::string& examples);

}  // namespace perceiver
