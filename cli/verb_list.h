// All verbs as the help has them, but as data: for the shells' completion and the manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace perceiver {

struct OptionText {
  std::vector<std::string> flags;  // "-m", "--model"; of an argument its name in the usage
  std::string value;               // "MODEL"; empty: it takes none
  std::string meaning;

  // The words its value is one of; empty: anything.
  std::vector<std::string> choices() const;
  // Whether the value is a file or a folder, or the name of a model or a file of one.
  bool takes_path() const;
  bool takes_model() const;
};

struct VerbText {
  std::string name;  // "fill", "data flow"; of the program itself ""
  std::string description;
  std::vector<std::string> examples;
  std::vector<OptionText> arguments, options;
  std::vector<std::string> verbs;  // that follow it: "flow", "sentencepiece"

  std::string last_word() const { return name.substr(name.rfind(' ') + 1); }
};

// The program itself first; a verb before its own.
std::vector<VerbText> all_verbs(const CLI::App& app);

}  // namespace perceiver
