// What `perceiver fill` takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "perceiver/tasks/language/fill_texts.h"

namespace perceiver {

struct FillArgs {
  SessionOptions session;
  std::optional<std::string> text;
  std::vector<std::string> more;  // words after it: somebody forgot the quotes
  FillOptions fill;
  bool json = false, jsonl = false;
};

// The session's too.
void add_fill_options(CLI::App& command, FillArgs& args);

}  // namespace perceiver
