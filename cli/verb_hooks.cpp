#include "cli/verb_hooks.h"

#include "cli/session.h"

namespace perceiver {

Hooks VerbHooks::hooks() {
  return {.note = note,
          .work = [this](const std::string& what, double work) { progress_.emplace(what, work); }};
}

void VerbHooks::clear() {
  if (progress_) progress_->clear();
}

}  // namespace perceiver
