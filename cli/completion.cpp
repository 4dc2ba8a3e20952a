#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/completion_scripts.h"

namespace perceiver {

void add_completion_command(CLI::App& app) {
  CLI::App* command =
      add_command(app, "completion",
                  "Print what lets a shell complete verbs, options and models. bash reads it by "
                  "'source FILE', zsh from a folder of its fpath, fish from "
                  "~/.config/fish/completions; an installed program needs none of this",
                  "  perceiver completion bash > perceiver.bash\n"
                  "  perceiver completion zsh > _perceiver\n"
                  "  perceiver completion fish > perceiver.fish");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  command->callback([&app, shell] {
    const std::vector<VerbText> verbs = all_verbs(app);
    fmt::print("{}", *shell == "bash"  ? bash_completion(verbs)
                     : *shell == "zsh" ? zsh_completion(verbs)
                                       : fish_completion(verbs));
  });
}

}  // namespace perceiver
