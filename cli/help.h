// What `perceiver -h`, `perceiver VERB -h` and `perceiver help VERB` print.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace perceiver {

// Columns of the terminal: $COLUMNS, else what the terminal says, else 80.
size_t terminal_width();

// Examples come first: most readers need nothing else. All lines fit the terminal.
class Help : public CLI::Formatter {
 public:
  explicit Help(size_t width);

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  // A name and, beside or below it, what it means.
  std::string entry(const std::string& name, const std::string& meaning) const;

  size_t width_;
};

std::vector<std::string> option_flags(const CLI::Option& option);  // "-m", "--model"

// What stands for the value of an option that takes one: "MODEL", "N", "float32|bfloat16". An
// option's name means the same in every verb.
std::string option_value(const CLI::Option& option);

// Its description, and what it is when it is not given, and what it goes with.
std::string option_meaning(const CLI::Option& option);

// How an argument without a dash is called: "INPUTS...", "[TEXT]".
std::string argument_name(const CLI::Option& argument);

void add_help_command(CLI::App& app);

}  // namespace perceiver
