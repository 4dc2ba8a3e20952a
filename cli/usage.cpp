#include "cli/usage.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "cli/help.h"
#include "perceiver/core/names.h"

namespace perceiver {
namespace {

std::string help_of(const std::string& verb) { return fmt::format("; see '{} -h'", verb); }

std::string suggestion(const std::string& word, const std::vector<std::string>& known,
                       const std::string& verb) {
  const std::string near = did_you_mean(word, known);
  return near.empty() ? help_of(verb) : near;
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> long_options_of(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Of "-k 3" and "-k3"; "-3" is a number.
bool is_unknown_letter(const CLI::App& verb, const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || std::isalpha(static_cast<unsigned char>(word[1])) == 0) {
    return false;
  }
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& letter : option->get_snames()) {
      if (letter == word.substr(1, 1)) return false;
    }
  }
  return true;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string name_of(const CLI::Option& option) {
  return option.get_positional() ? argument_name(option) : option.get_name();
}

std::string missing(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_required() && option->count() == 0) return name_of(*option) + " is missing";
  }
  return fmt::format("a verb is missing: {}", fmt::join(verbs_of(verb), " or "));
}

// Two options of which one needs the other, or forbids it.
std::string conflict(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0) continue;
    for (const CLI::Option* other : option->get_needs()) {
      if (other->count() == 0) return option->get_name() + " needs " + other->get_name();
    }
    for (const CLI::Option* other : option->get_excludes()) {
      if (other->count() == 0) continue;
      return fmt::format("{} and {} cannot both be given", option->get_name(), other->get_name());
    }
  }
  return "these options cannot be given together";
}

std::string too_many_or_few(const CLI::App& verb, const std::string& complaint) {
  for (const CLI::Option* option : verb.get_options()) {
    const size_t got = option->count();
    const size_t most = option->get_expected_max();
    if (option->get_type_size() == 0 || got <= most) continue;
    if (!option->get_positional())
      return fmt::format("{} is given {} times", name_of(*option), got);
    return fmt::format("expected {}, got {} arguments", name_of(*option), got);
  }
  return complaint.substr(0, complaint.find(':')) + " needs a value";
}

// Every number has a check of its own, so that only a flag's value is not converted.
std::string flag_with_value(const CLI::App& verb, const std::string& complaint) {
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_name();
    if (complaint.find(" " + name + " ") != complaint.npos) return name + " takes no value";
  }
  return complaint;
}

std::string superfluous(const CLI::App& verb) {
  // The parser collects them from the last to the first.
  return fmt::format("'{}' is one word too many; a text with spaces needs quotes",
                     verb.remaining().back());
}

std::string sentence(const CLI::App& verb, const CLI::ParseError& error) {
  const std::string complaint = error.what();
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:
      return missing(verb);
    case CLI::ExitCodes::RequiresError:
    case CLI::ExitCodes::ExcludesError:
      return conflict(verb);
    case CLI::ExitCodes::ArgumentMismatch:
      return too_many_or_few(verb, complaint);
    case CLI::ExitCodes::ExtrasError:
      return superfluous(verb);
    case CLI::ExitCodes::ConversionError:
      return flag_with_value(verb, complaint);
    default:
      return complaint;
  }
}

}  // namespace

std::string unknown_word(const CLI::App& app, std::span<char* const> words) {
  const CLI::App* verb = &app;
  std::string name = app.get_name();
  for (const std::string word : words) {
    if (word == "--") break;  // what follows is no option, whatever it looks like
    if (!word.starts_with("-") && !verb->get_subcommands({}).empty()) {
      const std::vector<std::string> known = verbs_of(*verb);
      if (!contains(known, word)) {
        return fmt::format("unknown verb '{}'{}", word, suggestion(word, known, name));
      }
      verb = verb->get_subcommand(word);
      name += " " + word;
    } else if (word.starts_with("--")) {
      const std::string option = word.substr(0, word.find('='));
      const std::vector<std::string> known = long_options_of(*verb);
      if (!contains(known, option)) {
        return fmt::format("unknown option '{}'{}", option, suggestion(option, known, name));
      }
    } else if (is_unknown_letter(*verb, word)) {
      return fmt::format("unknown option '{}'{}", word, help_of(name));
    }
  }
  return "";
}

std::string usage_complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = &app;
  std::string name = app.get_name();
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    name += " " + verb->get_name();
  }
  return sentence(*verb, error) + help_of(name);
}

}  // namespace perceiver
