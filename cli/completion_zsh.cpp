#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_scripts.h"

namespace perceiver {
namespace {

// zsh's own words go round what may have any character: a colon and brackets mean something to it.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string inside(const std::string& text) {
  const std::string whole = quoted(text);
  return whole.substr(1, whole.size() - 2);
}

// Of two underscores: no verb's function is called so.
std::string value_of(const OptionText& option) {
  if (option.value.empty()) return "";
  if (option.takes_model()) return ":model:_perceiver__names";
  if (option.takes_path()) return ":file:_files";
  const std::vector<std::string> choices = option.choices();
  if (!choices.empty()) return fmt::format(":value:({})", fmt::join(choices, " "));
  return ":" + inside(option.value) + ": ";
}

// One line for each spelling; the spellings exclude one another.
std::string lines_of_option(const OptionText& option) {
  std::string lines;
  for (const std::string& flag : option.flags) {
    lines += fmt::format(" \\\n    '({}){}[{}]{}'", fmt::join(option.flags, " "), flag,
                         inside(option.meaning), value_of(option));
  }
  return lines;
}

std::string function_of(const std::string& name) {
  std::string function = "_perceiver";
  if (name.empty()) return function;
  function += "_" + name;
  for (char& c : function) {
    if (c == ' ' || c == '-') c = '_';
  }
  return function;
}

// A verb's function sees the words from the verb on.
std::string function_text(const VerbText& verb, std::span<const VerbText> verbs) {
  std::string text = function_of(verb.name) + "() {\n";
  if (!verb.verbs.empty()) {
    std::string names;
    for (const std::string& next : verb.verbs) {
      const std::string name = verb.name.empty() ? next : verb.name + " " + next;
      for (const VerbText& one : verbs) {
        if (one.name != name) continue;
        names += fmt::format("\n      '{}:{}'", next, inside(one.description));
        text += fmt::format(
            "  if (( CURRENT > 2 )) && [[ $words[2] == {} ]]; then\n"
            "    shift words; (( CURRENT-- ))\n    {}; return\n  fi\n",
            next, function_of(name));
      }
    }
    text += "  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then\n    local -a verbs=(" + names +
            ")\n    _describe verb verbs; return\n  fi\n";
  }
  text += "  _arguments -s";
  for (const OptionText& option : verb.options) text += lines_of_option(option);
  return text + " \\\n    '*:file:_files'\n}\n";
}

}  // namespace

std::string zsh_completion(std::span<const VerbText> verbs) {
  std::string script =
      "#compdef perceiver\n# Completion for zsh, made by 'perceiver completion zsh'.\n"
      "_perceiver__names() {\n"
      "  local -a names=(${(f)\"$(perceiver models --names 2>/dev/null)\"})\n"
      "  _alternative 'models:model:compadd -a names' 'files:file:_files'\n}\n";
  for (const VerbText& verb : verbs) script += function_text(verb, verbs);
  // Loaded by its name it is called; sourced, it registers.
  return script +
         "if [[ $funcstack[1] == _perceiver ]]; then\n  _perceiver \"$@\"\nelse\n"
         "  compdef _perceiver perceiver\nfi\n";
}

}  // namespace perceiver
