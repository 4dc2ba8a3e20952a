#include "cli/build_facts.h"

#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>

#include "perceiver/kernels/cpu/instruction_sets.h"

// Set for this file by CMakeLists.txt: PERCEIVER_BUILD_TYPE, PERCEIVER_WITH_CUDA (its version, or
// ""), PERCEIVER_WITH_FFMPEG (libavformat's, or ""), PERCEIVER_WITH_SENTENCEPIECE and
// PERCEIVER_WITH_SERVER (1 or 0).
namespace perceiver {
namespace {

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string or_none(const char* version, const std::string& more) {
  const std::string text = version;
  return text.empty() ? "left out" : text + more;
}

std::string compiled_sets() {
  std::string names;
  for (const InstructionSet& set : instruction_sets()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", set.name);
  }
  return names;
}

}  // namespace

std::vector<Fact> build_facts() {
  const std::string cuda = PERCEIVER_WITH_CUDA;
  return {{"compiler", fmt::format("{}, {}", compiler(), PERCEIVER_BUILD_TYPE)},
          {"LibTorch", TORCH_VERSION},
          {"CUDA", or_none(PERCEIVER_WITH_CUDA, ", kernels for sm_80 and sm_90a")},
          {"FFmpeg", or_none(PERCEIVER_WITH_FFMPEG, " (libavformat), loaded when it is needed")},
          {"instruction sets", compiled_sets()},
          {"SentencePiece", PERCEIVER_WITH_SENTENCEPIECE ? "built in" : "left out"},
          {"server", PERCEIVER_WITH_SERVER ? "built in" : "left out"}};
}

std::string lines_of_facts(const std::vector<Fact>& facts) {
  size_t width = 0;
  for (const Fact& fact : facts) width = std::max(width, fact.name.size());
  std::string text;
  for (const Fact& fact : facts)
    text += fmt::format("  {:<{}}  {}\n", fact.name, width, fact.value);
  return text;
}

std::string version_text() {
  return "perceiver " PERCEIVER_VERSION "\n" + lines_of_facts(build_facts());
}

}  // namespace perceiver
