#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion_scripts.h"

namespace perceiver {
namespace {

// The condition of every line: whether the words so far are of this verb.
constexpr const char* kBegin = R"(# Completion for fish, made by 'perceiver completion fish'.
function __perceiver_at
    set -l verb
    for word in (commandline -opc)[2..]
        set -l next (string trim "$verb $word")
        contains -- $next $__perceiver_verbs; and set verb $next
    end
    test "$verb" = "$argv[1]"
end
)";

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string line_of(const VerbText& verb, const OptionText& option) {
  std::string line = fmt::format("complete -c perceiver -n \"__perceiver_at '{}'\"", verb.name);
  for (const std::string& flag : option.flags) {
    line += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
  }
  if (option.takes_model()) {
    line += " -r -a '(perceiver models --names 2>/dev/null)'";
  } else if (const std::vector<std::string> choices = option.choices(); !choices.empty()) {
    line += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
  } else if (!option.value.empty()) {
    line += option.takes_path() ? " -r -F" : " -x";
  }
  return line + " -d " + quoted(option.meaning) + "\n";
}

}  // namespace

std::string fish_completion(std::span<const VerbText> verbs) {
  std::string script = kBegin, names, lines;
  for (const VerbText& verb : verbs) {
    if (!verb.name.empty()) {
      const size_t space = verb.name.rfind(' ');
      names += " " + quoted(verb.name);
      lines += fmt::format("complete -c perceiver -n \"__perceiver_at '{}'\" -f -a {} -d {}\n",
                           space == verb.name.npos ? "" : verb.name.substr(0, space),
                           verb.last_word(), quoted(verb.description));
    }
    for (const OptionText& option : verb.options) lines += line_of(verb, option);
  }
  return script + "set -g __perceiver_verbs" + names + "\n" + lines;
}

}  // namespace perceiver
