// The manual page, perceiver(1): all that `perceiver help` and `perceiver help VERB` say.
#pragma once

#include <span>
#include <string>

#include "cli/verb_list.h"

namespace perceiver {

std::string man_page(std::span<const VerbText> verbs);

}  // namespace perceiver
