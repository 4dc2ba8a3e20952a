#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_scripts.h"

namespace perceiver {
namespace {

// The words so far decide the verb; "data flow" is one.
constexpr const char* kBegin = R"(# Completion for bash, made by 'perceiver completion bash'.
_perceiver() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local verb= verbs= options= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$verb/${COMP_WORDS[i]}" in
)";

constexpr const char* kValues = R"(  esac
  case "$verb/$prev" in
)";

// What is neither a verb nor an option is left to bash: it completes files.
constexpr const char* kEnd = R"(  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ $verbs ]]; then
    COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
  fi
}
complete -o bashdefault -o default -F _perceiver perceiver
)";

std::string flags_of(const VerbText& verb) {
  std::string all;
  for (const OptionText& option : verb.options) {
    for (const std::string& flag : option.flags) all += (all.empty() ? "" : " ") + flag;
  }
  return all;
}

// "fill/-m|fill/--model"
std::string pattern(const VerbText& verb, const OptionText& option) {
  std::string all;
  for (const std::string& flag : option.flags) {
    all += fmt::format("{}'{}/{}'", all.empty() ? "" : " | ", verb.name, flag);
  }
  return all;
}

std::string line_of_values(const VerbText& verb, const OptionText& option) {
  if (option.value.empty()) return "";
  const std::string matches = "    " + pattern(verb, option) + ")\n      ";
  if (option.takes_model()) {
    return matches +
           "COMPREPLY=($(compgen -W \"$(perceiver models --names 2>/dev/null)\" -- \"$cur\"))\n"
           "      return ;;\n";
  }
  const std::vector<std::string> choices = option.choices();
  if (choices.empty()) return matches + "return ;;\n";
  return matches + fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))\n      return ;;\n",
                               fmt::join(choices, " "));
}

}  // namespace

std::string bash_completion(std::span<const VerbText> verbs) {
  std::string script = kBegin, values = kValues;
  for (const VerbText& verb : verbs) {
    const size_t space = verb.name.rfind(' ');
    const std::string before = space == verb.name.npos ? "" : verb.name.substr(0, space);
    if (verb.name.empty()) continue;
    script += fmt::format("      '{}/{}') verb='{}' ;;\n", before, verb.last_word(), verb.name);
  }
  script += "    esac\n  done\n  case \"$verb\" in\n";
  for (const VerbText& verb : verbs) {
    script += fmt::format("    '{}')\n      verbs='{}'\n      options='{}' ;;\n", verb.name,
                          fmt::join(verb.verbs, " "), flags_of(verb));
    for (const OptionText& option : verb.options) values += line_of_values(verb, option);
  }
  return script + values + kEnd;
}

}  // namespace perceiver
