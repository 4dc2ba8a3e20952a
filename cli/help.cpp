#include "cli/help.h"

#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "cli/format.h"
#include "perceiver/core/lines.h"

namespace perceiver {
namespace {

constexpr size_t kNarrowest = 40, kWidest = 120;  // between them lines can be read

std::string flags_and_value(const CLI::Option& option) {
  const std::string names = fmt::format("{}", fmt::join(option_flags(option), ", "));
  return option.get_type_size() == 0 ? names : names + " " + option_value(option);
}

std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

// A command on lines that a shell reads as one: it is broken at spaces outside of quotes.
std::string broken_command(const std::string& command, size_t width) {
  std::string lines, line;
  size_t space = 0;  // the last one at which `line` can be broken
  char quote = 0;
  for (const char c : command) {
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    }
    const bool indent = line.find_first_not_of(' ') == line.npos;
    if (c == ' ' && quote == 0 && !indent) space = line.size();
    line += c;
    if (line.size() > width - 2 && space > 0) {
      lines += line.substr(0, space) + " \\\n";
      line = "    " + line.substr(space + 1);
      space = 0;
    }
  }
  return lines + line + "\n";
}

}  // namespace

size_t terminal_width() {
  size_t width = 80;
  winsize size{};
  const char* columns = std::getenv("COLUMNS");
  if (columns != nullptr && std::atoi(columns) > 0) {
    width = std::atoi(columns);
  } else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  }
  return std::clamp(width, kNarrowest, kWidest);
}

std::string option_value(const CLI::Option& option) {
  if (option.get_type_size() == 0) return "";
  static const std::map<std::string, std::string> known = {{"--attention", "KERNEL"},
                                                           {"--backgrounds", "FOLDER"},
                                                           {"--box", "X0,Y0,X1,Y1"},
                                                           {"--consistency", "PATH"},
                                                           {"--cutouts", "FOLDER"},
                                                           {"--data", "PATH"},
                                                           {"--device", "DEVICE"},
                                                           {"--error-picture", "PATH"},
                                                           {"--frames", "LIST"},
                                                           {"--freeze", "PATTERN"},
                                                           {"--from", "MODEL"},
                                                           {"--ground-truth", "PATH"},
                                                           {"--io", "FILE"},
                                                           {"--model", "MODEL"},
                                                           {"--models", "FOLDER"},
                                                           {"--new-head", "PATTERN"},
                                                           {"--output", "PATH"},
                                                           {"--pixels", "X,Y ..."},
                                                           {"--resume", "RUN"},
                                                           {"--seconds", "A-B"},
                                                           {"--show", "FILE"},
                                                           {"--size", "WIDTHxHEIGHT"},
                                                           {"--tasks", "LIST"},
                                                           {"--words", "LIST"},
                                                           {"--sweep", "inputs|outputs|latents"}};
  const std::string type = option.get_type_name();
  // The parser joins the type and what a check calls a good value: "INT:N".
  if (const size_t colon = type.find(':'); colon != type.npos) return type.substr(colon + 1);
  const auto found = known.find(option.get_name());
  return found == known.end() ? type : found->second;
}

std::vector<std::string> option_flags(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& letter : option.get_snames()) flags.push_back("-" + letter);
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::string option_meaning(const CLI::Option& option) {
  std::string meaning = option.get_description();
  const bool has_default = option.get_type_size() != 0 && !option.get_default_str().empty();
  if (has_default) meaning += "; default: " + option.get_default_str();
  if (option.get_required() && option.nonpositional()) meaning += "; must be given";
  if (!option.get_needs().empty()) meaning += "; needs " + names_of(option.get_needs());
  if (!option.get_excludes().empty()) meaning += "; not with " + names_of(option.get_excludes());
  return meaning;
}

std::string argument_name(const CLI::Option& argument) {
  if (!argument.get_option_text().empty()) return argument.get_option_text();
  std::string name = argument.get_name(true, false);
  if (name == "overrides") name = "key=value";
  if (name != "key=value") std::transform(name.begin(), name.end(), name.begin(), ::toupper);
  return name + (argument.get_expected_max() > 1 ? "..." : "");
}

Help::Help(size_t width) : width_(width) { label("Positionals", "Arguments"); }

std::string Help::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string examples;
  for (const std::string& line : lines_of(app->get_footer())) {
    examples += broken_command(line, width_);
  }
  return (examples.empty() ? "" : "Examples:\n" + examples + "\n") +
         CLI::Formatter::make_help(app, std::move(name), mode);
}

std::string Help::make_description(const CLI::App* app) const {
  return wrapped(app->get_description(), 0, width_) + "\n";
}

std::string Help::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = "Usage: " + name;
  for (const CLI::Option* option : app->get_options()) {
    if (!option->get_positional()) continue;
    const std::string argument = argument_name(*option);
    usage += option->get_required() ? " " + argument : " [" + argument + "]";
  }
  if (!app->get_subcommands({}).empty()) usage += " VERB";
  return wrapped(usage + " [OPTIONS]", 0, width_);
}

std::string Help::make_subcommand(const CLI::App* verb) const {
  return entry(verb->get_name(), verb->get_description());
}

std::string Help::make_option(const CLI::Option* option, bool is_positional) const {
  return entry(is_positional ? argument_name(*option) : flags_and_value(*option),
               option_meaning(*option));
}

std::string Help::make_footer(const CLI::App* app) const {
  return app->get_parent() == nullptr ? "'perceiver help VERB' tells more of a verb.\n" : "";
}

std::string Help::entry(const std::string& name, const std::string& meaning) const {
  const size_t column = std::min<size_t>(26, width_ / 3);
  const std::string left = "  " + name;
  const std::string right = wrapped(meaning, column, width_);
  if (left.size() + 2 > column) return left + "\n" + right;
  return left + right.substr(left.size());
}

}  // namespace perceiver
