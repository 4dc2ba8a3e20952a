// What this program was made of.
#pragma once

#include <string>
#include <vector>

namespace perceiver {

struct Fact {
  std::string name, value;
};

// Compiler, LibTorch, CUDA, FFmpeg, instruction sets, and what was left out.
std::vector<Fact> build_facts();

// "perceiver 0.1.0", and a line for each fact.
std::string version_text();

// Names and values below each other.
std::string lines_of_facts(const std::vector<Fact>& facts);

}  // namespace perceiver
