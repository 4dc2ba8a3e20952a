// What `perceiver flow` takes.
#pragma once

#include "cli/ranks.h"
#include "cli/session.h"
#include "perceiver/tasks/optical_flow/files.h"

namespace perceiver {

struct FlowArgs {
  SessionOptions session;
  FlowJob job;
  std::string show, tiles = std::string(to_word(TilePlacement::kEven));
  bool json = false, jsonl = false;
  RankArgs ranks;
  int64_t count = 0;  // of a stream's pairs; 0: all
};

// All but the session's.
void add_flow_options(CLI::App& command, FlowArgs& args);

}  // namespace perceiver
