// What `perceiver doctor` finds on this machine.
#pragma once

#include <string>
#include <vector>

namespace perceiver {

struct Finding {
  std::string name, value;
  std::string advice = {};  // what to do; empty: nothing is missing
  bool is_needed = false;   // nothing works without it
};

// Where the program lies, the machine's processors, memory and GPUs.
std::vector<Finding> machine_findings();

// The libraries in use, and what was left out of this build.
std::vector<Finding> library_findings();

// The folders in which models and configs are looked for.
std::vector<Finding> model_findings();

}  // namespace perceiver
