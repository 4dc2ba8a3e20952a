// What a shell needs to complete a command line of the program.
#pragma once

#include <span>
#include <string>

#include "cli/verb_list.h"

namespace perceiver {

std::string bash_completion(std::span<const VerbText> verbs);
std::string zsh_completion(std::span<const VerbText> verbs);
std::string fish_completion(std::span<const VerbText> verbs);

}  // namespace perceiver
