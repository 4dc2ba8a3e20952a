#include "cli/verb_list.h"

#include <algorithm>

#include "cli/help.h"
#include "perceiver/core/lines.h"

namespace perceiver {
namespace {

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

VerbText text_of(const CLI::App& verb, const std::string& name) {
  VerbText text{.name = name,
                .description = verb.get_description(),
                .examples = {},
                .arguments = {},
                .options = {},
                .verbs = {}};
  for (const std::string& line : lines_of(verb.get_footer())) {
    if (!line.empty()) text.examples.push_back(line.substr(line.find_first_not_of(' ')));
  }
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional()) {
      text.arguments.push_back({{argument_name(*option)}, "", option_meaning(*option)});
    } else {
      text.options.push_back(
          {option_flags(*option), option_value(*option), option_meaning(*option)});
    }
  }
  return text;
}

void add(const CLI::App& verb, const std::string& name, std::vector<VerbText>& all) {
  const size_t own = all.size();
  all.push_back(text_of(verb, name));
  for (const CLI::App* next : verb.get_subcommands({})) {
    all[own].verbs.push_back(next->get_name());
    add(*next, name.empty() ? next->get_name() : name + " " + next->get_name(), all);
  }
}

}  // namespace

std::vector<std::string> OptionText::choices() const {
  std::vector<std::string> words(1);
  for (const char c : value) {
    if (c == '|') {
      words.emplace_back();
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') {
      words.back() += c;
    } else {
      return {};  // what stands for a value is in capitals
    }
  }
  if (words.size() == 1) return {};
  return words;
}

bool OptionText::takes_path() const { return is_one_of(value, {"PATH", "FOLDER", "FILE", "RUN"}); }

bool OptionText::takes_model() const { return value == "MODEL"; }

std::vector<VerbText> all_verbs(const CLI::App& app) {
  std::vector<VerbText> all;
  add(app, "", all);
  return all;
}

}  // namespace perceiver
