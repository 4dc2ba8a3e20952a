#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "perceiver/core/error.h"
#include "perceiver/core/names.h"

namespace perceiver {

void add_help_command(CLI::App& app) {
  CLI::App* command =
      add_command(app, "help", "Show what a verb does, with examples and all options",
                  "  perceiver help\n"
                  "  perceiver help fill\n"
                  "  perceiver help data flow\n"
                  "  perceiver help --man > perceiver.1");
  auto words = std::make_shared<std::vector<std::string>>();
  auto man = std::make_shared<bool>(false);
  CLI::Option* of = command->add_option("verb", *words, "The verb; default: a list of all of them");
  command->add_flag("--man", *man, "Print all of it as a manual page, for man")->excludes(of);
  command->callback([&app, words, man] {
    if (*man) {
      fmt::print("{}", man_page(all_verbs(app)));
      return;
    }
    const CLI::App* verb = &app;
    std::string name = app.get_name();
    for (const std::string& word : *words) {
      std::vector<std::string> known;
      for (const CLI::App* sub : verb->get_subcommands({})) known.push_back(sub->get_name());
      if (std::find(known.begin(), known.end(), word) == known.end()) {
        const std::string near = did_you_mean(word, known);
        fail("unknown verb '{}'{}", word, near.empty() ? "; see 'perceiver -h'" : near);
      }
      verb = verb->get_subcommand(word);
      name += " " + word;
    }
    fmt::print("{}", app.get_formatter()->make_help(verb, name, CLI::AppFormatMode::Normal));
  });
}

}  // namespace perceiver
