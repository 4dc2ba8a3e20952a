// The CPU's instruction sets that the inner loops (tiles.h) are compiled for.
#pragma once

#include <string_view>
#include <vector>

namespace perceiver {

struct InstructionSet {
  std::string_view name;
  bool is_here;  // whether this CPU has it, and the system lets it be used
};

// From the least to the most.
std::vector<InstructionSet> instruction_sets();

}  // namespace perceiver
