// Verbs on a camera or a stream: results as they come, until it ends, there are enough, or Ctrl-C.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/flow_options.h"
#include "perceiver/core/interrupt.h"
#include "perceiver/tasks/classes.h"

namespace CLI {
class App;
}

namespace perceiver {

// Whether the only input is a camera or a stream.
bool is_live(const std::vector<std::string>& inputs);

// --count
void add_count_option(CLI::App& command, int64_t& count);

// When to end: after so many results, 0 for no such number, or when the user asks to.
class LiveEnd {
 public:
  explicit LiveEnd(int64_t count) : left_(count > 0 ? count : -1) {}

  void one_done() { left_ -= left_ > 0; }
  bool reached() const { return left_ == 0 || asked_.signal() != 0; }

 private:
  int64_t left_;
  StopOnInterrupt asked_;
};

void live_flow(const FlowArgs& args);

struct LiveClassify {
  std::string address;
  int64_t top = 5, count = 0;
  bool json = false, jsonl = false;
};
void live_classify(Model& model, const LiveClassify& args);

}  // namespace perceiver
