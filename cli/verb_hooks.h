// What a verb makes of what the library tells it: notes and a line of progress, both on stderr.
#pragma once

#include <optional>

#include "cli/progress.h"
#include "perceiver/tasks/hooks.h"

namespace perceiver {

class VerbHooks {
 public:
  // They must not outlive this object.
  Hooks hooks();

  // Wipes the line of progress, so that results may be printed.
  void clear();

 private:
  std::optional<PassProgress> progress_;
};

}  // namespace perceiver
